import copy

import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 12), nn.GELU(), nn.LayerNorm(12), nn.Linear(12, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 12), nn.LeakyReLU(0.1), nn.Dropout(0.0), nn.Linear(12, 20))
        self.register_buffer('steps', torch.zeros(1))

    def forward(self, x):
        if self.training:
            self.steps += 1
        return self.decoder(self.encoder(x))


t = torch.arange(40).float()[:, None] * 0.4 + torch.arange(20).float()[None, :] * 0.7
data = ((torch.sin(t) + torch.cos(2.1 * t)) > 0.2).float()
train, held = data[:30], data[30:]
model = AutoEncoder()
with torch.no_grad():
    for k, (name, p) in enumerate(model.named_parameters()):
        if p.dim() > 1:
            p.copy_((0.3 * torch.cos(1.1 * torch.arange(p.numel()).float() + k)).reshape(p.shape))
        elif name.endswith('bias'):
            p.zero_()
decay = [p for p in model.parameters() if p.dim() > 1]
rest = [p for p in model.parameters() if p.dim() <= 1]
optimizer = torch.optim.RMSprop([{'params': decay, 'weight_decay': 1e-3}, {'params': rest, 'lr': 5e-3}], lr=3e-3)
criterion = nn.BCEWithLogitsLoss(reduction='sum')

losses, best, kept = [], float('inf'), None
for epoch in range(15):
    model.train()
    loss = criterion(model(train), train) / len(train)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        check = criterion(model(held), held).item() / len(held)
    if check < best:
        best, kept = check, copy.deepcopy(model.state_dict())
    losses += [loss.item(), check]
    for group in optimizer.param_groups:
        group['lr'] *= 0.95
model.load_state_dict(kept)
losses.append(torch.sigmoid(model(held)).sub(held).abs().mean().item())
losses.append(model.steps.item())
