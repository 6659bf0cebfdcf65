-- Whether a kernel may wait for the whole grid: it is launched cooperatively. Kernels of older builds were not.
ALTER TABLE build_kernel ADD COLUMN cooperative INTEGER NOT NULL DEFAULT 0;
