"""Tests of sparse operators."""
from sparseops.testing.inference import check_inference
from sparseops.testing.check import check_operator
from sparseops.testing.layout import laid_out
from sparseops.testing.numeric import numerical_grad
