import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 8, kernel_size=3)
        self.fc = nn.Linear(8 * 3 * 3, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        x = F.relu(self.conv2(x))
        x = x.view(x.size(0), -1)
        return self.fc(x)


labels = torch.arange(32) % 4
grid = torch.arange(10).float()
images = torch.stack([torch.outer(torch.sin(0.3 * (i % 4 + 1) * grid), torch.cos(0.2 * i + grid)) for i in range(32)])
images = images.unsqueeze(1)

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
model = Net().to(device)
for k, (name, p) in enumerate(model.named_parameters()):
    if 'norm' not in name:
        nn.init.constant_(p, 0.0)
        p.data += 0.2 * torch.cos(2.3 * torch.arange(p.numel()).float() + k).reshape(p.shape)

optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for epoch in range(10):
    for i in range(0, len(images), 8):
        inputs, targets = images[i:i + 8].to(device), labels[i:i + 8].to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = F.cross_entropy(outputs, targets)
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
model.eval()
with torch.no_grad():
    predicted = model(images).argmax(dim=1)
    losses.append((predicted == labels).float().mean().item())
    losses.append(F.cross_entropy(model(images), labels, label_smoothing=0.1).item())
