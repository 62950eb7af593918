import { join } from 'node:path'
import { build } from 'vite'

const web = join(import.meta.dirname, '../web')

export interface Entry {
  /** Paths in the site. */
  script: string
  styles: readonly string[]
}

export interface Assets {
  theme: Entry
  site: Entry
  reference: Entry
}

const bundle = async (outDir: string, names: readonly string[], format: 'es' | 'iife'): Promise<Entry[]> => {
  const built = await build({
    configFile: false,
    root: web,
    base: './',
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // Swagger UI comes as one file.
      chunkSizeWarningLimit: 2000,
      rolldownOptions: {
        checks: { pluginTimings: false },
        input: Object.fromEntries(names.map((name) => [name, join(web, `${name}.ts`)])),
        output: { format, entryFileNames: 'assets/[name]-[hash].js' },
      },
    },
  })
  if (!('output' in built)) throw new Error('the bundler gave no files')
  return names.map((name) => {
    const chunk = built.output.find((file) => file.type === 'chunk' && file.isEntry && file.name === name)
    if (chunk?.type !== 'chunk') throw new Error(`the bundler made no ${name}`)
    return { script: chunk.fileName, styles: [...(chunk.viteMetadata?.importedCss ?? [])] }
  })
}

const one = (entries: readonly (Entry | undefined)[]) => {
  const [entry] = entries
  if (!entry) throw new Error('the bundler made nothing')
  return entry
}

/** Bundles the scripts and styles of the pages; the names of the files carry hashes of what they hold. */
export const buildAssets = async (outDir: string): Promise<Assets> => {
  // A module would run when the page is painted already.
  const theme = one(await bundle(outDir, ['theme'], 'iife'))
  const [site, reference] = await bundle(outDir, ['site', 'reference'], 'es')
  return { theme, site: one([site]), reference: one([reference]) }
}
