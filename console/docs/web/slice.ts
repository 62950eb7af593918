// A part of the API's description which is a whole description: the operations that are asked for, and what they refer to.

export interface JsonObject {
  [key: string]: unknown
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const objectAt = (value: unknown, key: string): JsonObject => {
  const found = isObject(value) ? value[key] : undefined
  return isObject(found) ? found : {}
}

const methods = new Set(['get', 'put', 'post', 'patch', 'delete', 'head', 'options'])

export const isMethod = (key: string) => methods.has(key)

type Wanted = (operation: JsonObject) => boolean

const pathsOf = (document: JsonObject, isWanted: Wanted): JsonObject =>
  Object.fromEntries(
    Object.entries(objectAt(document, 'paths')).flatMap(([path, item]) => {
      const kept = Object.entries(isObject(item) ? item : {}).filter(
        ([key, operation]) => !isMethod(key) || (isObject(operation) && isWanted(operation)),
      )
      return kept.some(([key]) => isMethod(key)) ? [[path, Object.fromEntries(kept)]] : []
    }),
  )

const referencesIn = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(referencesIn)
  if (!isObject(value)) return []
  const own = typeof value.$ref === 'string' ? [value.$ref] : []
  return [...own, ...Object.values(value).flatMap(referencesIn)]
}

/** What is referred to, and what that refers to. */
const componentsOf = (document: JsonObject, paths: JsonObject): JsonObject => {
  const all = objectAt(document, 'components')
  const components: Record<string, JsonObject> = { securitySchemes: objectAt(all, 'securitySchemes') }
  const seen = new Set<string>()
  const waiting = referencesIn(paths)
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    const [kind = '', name = ''] = next.replace('#/components/', '').split('/')
    const found = objectAt(all, kind)[name]
    components[kind] = { ...components[kind], [name]: found }
    waiting.push(...referencesIn(found))
  }
  return components
}

export const sliceOf = (document: JsonObject, isWanted: Wanted): JsonObject => {
  const paths = pathsOf(document, isWanted)
  return { ...document, paths, components: componentsOf(document, paths) }
}
