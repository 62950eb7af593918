export interface DocsOptions {
  outDir: string
  place?: 'server' | 'alone'
}
export const buildDocs: (options: DocsOptions) => Promise<void>
