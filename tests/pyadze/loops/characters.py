import torch
from torch import nn, optim

text = 'the theory of the thing is that the thin thread then thickens there ' * 4
letters = sorted(set(text))
ids = torch.tensor([letters.index(c) for c in text])


class Model(nn.Module):
    def __init__(self, n, width=24):
        super().__init__()
        self.embedding = nn.Embedding(n, 12)
        self.lstm = nn.LSTM(12, width, num_layers=1, batch_first=True)
        self.head = nn.Linear(width, n)

    def forward(self, x, state=None):
        y, state = self.lstm(self.embedding(x), state)
        return self.head(y), state


model = Model(len(letters))
with torch.no_grad():
    for k, p in enumerate(model.parameters()):
        p.copy_((0.4 * torch.sin(0.9 * torch.arange(p.numel()).float() + 2 * k)).view(p.shape))
optimizer = optim.AdamW(model.parameters(), lr=2e-2, betas=(0.9, 0.99), weight_decay=0.05)
criterion = nn.CrossEntropyLoss()

losses, state = [], None
for step in range(24):
    at = (step * 31) % (len(ids) - 81)
    chunk = ids[at:at + 81]
    x, y = chunk[:-1].view(4, 20), chunk[1:].view(4, 20)
    logits, _ = model(x)
    loss = criterion(logits.reshape(-1, len(letters)), y.reshape(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    losses.append(float(nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
    optimizer.step()
    losses.append(loss.item())
model.eval()
out = [letters.index('t')]
with torch.no_grad():
    for _ in range(20):
        logits, state = model(torch.tensor([[out[-1]]]), state)
        out.append(int(logits[0, -1].argmax()))
losses.append(float(sum(out)))
