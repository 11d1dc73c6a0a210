import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.linspace(-2, 2, 60).reshape(60, 1)
y = torch.sin(2 * x) + 0.1 * torch.cos(17 * x)
loader = DataLoader(TensorDataset(x, y), batch_size=16)

model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
with torch.no_grad():
    for k, p in enumerate(model.parameters()):
        p.copy_(0.5 * torch.sin(1.7 * torch.arange(p.numel()).float() + k).reshape(p.shape))

criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)

losses = []
for epoch in range(12):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    scheduler.step()
    losses.append(total / len(x))
model.eval()
with torch.no_grad():
    losses.append(criterion(model(x), y).item())
    losses.append(scheduler.get_last_lr()[0])
