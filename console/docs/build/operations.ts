// The API's description, cut into one document for each group of operations, so that a page loads what it shows.
import { isMethod, isObject, type JsonObject, objectAt, sliceOf } from '../web/slice.ts'
import { sourceText } from './sources.ts'

const textAt = (value: unknown, key: string) => {
  const found = isObject(value) ? value[key] : undefined
  return typeof found === 'string' ? found : ''
}

export interface Operation {
  id: string
  /** In capitals. */
  method: string
  path: string
  summary: string
  description: string
}

export interface OperationGroup {
  name: string
  description: string
  page: string
  operations: readonly Operation[]
  document: JsonObject
}

export interface Operations {
  version: string
  description: string
  groups: readonly OperationGroup[]
}

const operationsIn = (document: JsonObject): Operation[] =>
  Object.entries(objectAt(document, 'paths')).flatMap(([path, item]) =>
    Object.entries(isObject(item) ? item : {})
      .filter(([key]) => isMethod(key))
      .map(([method, operation]) => ({
        id: textAt(operation, 'operationId'),
        method: method.toUpperCase(),
        path,
        summary: textAt(operation, 'summary'),
        description: textAt(operation, 'description'),
      })),
  )

const groupOf = (whole: JsonObject, tag: JsonObject): OperationGroup => {
  const name = textAt(tag, 'name')
  const document = sliceOf(whole, ({ tags }) => Array.isArray(tags) && tags.includes(name))
  return {
    name,
    description: textAt(tag, 'description'),
    page: `api/${name}.html`,
    operations: operationsIn(document),
    document: { ...document, tags: [tag] },
  }
}

export const readOperations = (): Operations => {
  const document: unknown = JSON.parse(sourceText('openapi.json'))
  if (!isObject(document)) throw new Error('openapi.json is no object')
  const tags = Array.isArray(document.tags) ? document.tags.filter(isObject) : []
  const info = objectAt(document, 'info')
  return {
    version: textAt(info, 'version'),
    description: textAt(info, 'description'),
    groups: tags
      .map((tag) => groupOf(document, tag))
      .sort((one, other) => one.name.localeCompare(other.name, 'en')),
  }
}
