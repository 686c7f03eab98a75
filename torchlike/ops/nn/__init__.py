"""Operations of neural networks: layers, losses, normalisations, attention, recurrences."""
