import { isObject, type Json, sameJson } from '../lib/json.ts'

const name = /^[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,127}$/

// Names that mean something else to every JavaScript object, and the key that answers carry.
const reserved = new Set(['id', '__proto__', 'constructor', 'prototype'])

/** Whether a text can name a settings document or one of its sections. */
export const isSettingsName = (text: string) => name.test(text) && !reserved.has(text)

interface SchemaNode {
  default?: unknown
  properties?: Record<string, SchemaNode>
}

/** The default values of the schema for unset keys. */
export const defaultsOf = (schema: object): Json => {
  const values: Json = {}
  for (const [key, node] of Object.entries((schema as SchemaNode).properties ?? {})) {
    if (node.properties) values[key] = defaultsOf(node)
    else if (node.default !== undefined) values[key] = node.default
  }
  return values
}

const overlay = (below: Json, above: Json): Json => {
  const merged: Json = { ...below }
  for (const [key, value] of Object.entries(above)) {
    const under = below[key]
    merged[key] = isObject(value) && isObject(under) ? overlay(under, value) : value
  }
  return merged
}

/** Sections laid over each other; later ones win, objects are merged. */
export const mergeSections = (...sections: (Json | undefined)[]): Json =>
  sections.reduce<Json>((below, above) => (above ? overlay(below, above) : below), {})

/**
 * The values of `section` that differ from the defaults: only these are stored, so that new defaults apply to
 * old installations.
 */
export const withoutDefaults = (section: Json, defaults: Json): Json => {
  const kept: Json = {}
  for (const [key, value] of Object.entries(section)) {
    const fallback = defaults[key]
    if (isObject(value) && isObject(fallback)) {
      const inner = withoutDefaults(value, fallback)
      if (Object.keys(inner).length > 0) kept[key] = inner
    } else if (!sameJson(value, fallback)) kept[key] = value
  }
  return kept
}
