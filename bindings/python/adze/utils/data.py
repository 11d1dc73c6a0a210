"""Datasets and batches under the names of torch.utils.data."""
from .. import _adze


class TensorDataset:
    """Tensors whose first dimensions count the same rows."""

    def __init__(self, *tensors):
        self.tensors = tensors
        self._handle = _adze.dataset_new(tensors)

    def __len__(self):
        return _adze.dataset_row_count(self._handle)

    def __getitem__(self, i):
        return tuple(t[i] for t in self.tensors)


class DataLoader:
    """Goes through a TensorDataset in batches, in another order in each epoch if it is to shuffle."""

    def __init__(self, dataset, batch_size=1, shuffle=False, drop_last=False, generator=None, num_workers=0,
                 pin_memory=False):
        if not isinstance(dataset, TensorDataset):
            raise TypeError('a DataLoader of adze takes a TensorDataset: put all rows into tensors')
        self.dataset, self.batch_size = dataset, batch_size
        self._begun, self._loop = False, None
        self._handle = _adze.loader_new(dataset._handle, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last,
                                        generator=generator)

    def __len__(self):
        return _adze.loader_batch_count(self._handle)

    def __iter__(self):
        """A new epoch, also if the last loop was left early. One loop goes on at a time."""
        if self._begun:
            _adze.loader_restart(self._handle)
        self._begun, self._loop = True, object()
        return self._batches(self._loop)

    def _batches(self, loop):
        n = len(self.dataset.tensors)
        while True:
            if self._loop is not loop:
                raise RuntimeError('another loop over this DataLoader has begun: make a DataLoader for each')
            batch = _adze.loader_next(self._handle, n)
            if batch is None:
                break
            yield batch
        self._begun = False
