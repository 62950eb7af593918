// Plain JavaScript, as what loads it: see bin/crosspoint.mjs.
import { registerHooks } from 'node:module'

const ourCode = new URL('.', import.meta.url).href

/** Format of a file; undefined if its name does not determine it. */
const formatOf = (url) => {
  if (url.endsWith('.mjs')) return 'module'
  if (!url.startsWith(ourCode)) return undefined
  if (url.endsWith('.ts')) return 'module-typescript'
  return url.endsWith('.js') ? 'module' : undefined
}

// The path in an import is that of the file. Node would ask the disk about each of them, and about the folders around it:
// a quarter of a start.
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('.') || context.parentURL === undefined) return next(specifier, context)
    const url = new URL(specifier, context.parentURL).href
    const format = formatOf(url)
    return format ? { url, format, shortCircuit: true } : next(specifier, context)
  },
})
