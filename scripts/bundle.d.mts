export const bundlesIn: (root: string) => string
export const bundleOf: (root: string) => string
export const programOf: (root: string) => string
export const forgetOldBundles: (folder: string) => void
