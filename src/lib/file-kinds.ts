/** Records with a file each: see storage/files.ts. */
export const fileKinds = ['user_photo', 'whitelabel_file'] as const

export type FileKind = (typeof fileKinds)[number]

export const isFileKind = (kind: string) => fileKinds.some((one) => one === kind)
