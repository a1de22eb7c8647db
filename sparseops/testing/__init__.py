"""Tests of sparse operators."""

from sparseops.testing.check import check_operator as check_operator
from sparseops.testing.inference import check_inference as check_inference
from sparseops.testing.numeric import numerical_grad as numerical_grad
