"""Servers that run already and are contenders by their URL: nothing here starts or stops one."""
