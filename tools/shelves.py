"""The libraries of their own over libadze's public headers, as src/shelves.txt lists them."""
import pathlib

TOP = pathlib.Path(__file__).resolve().parent.parent


def shelves():
    """Their names: zoo stands for the library adze-zoo, the folder src/zoo and the header adze/zoo.h."""
    lines = (TOP / 'src/shelves.txt').read_text(encoding='utf-8').splitlines()
    return [line.split(' | ')[0] for line in lines if not line.startswith('#')]


def shelf_of(header):
    """The name of the shelf of a header, "adze/zoo/gpt2.h" or "adze/zoo.h"; None for a header of libadze."""
    parts = header.removesuffix('.h').split('/')
    return parts[1] if len(parts) > 1 and parts[1] in shelves() else None
