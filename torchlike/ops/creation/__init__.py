"""Operations that make tensors, from a shape, from data or at random, or that change dtype and device."""
