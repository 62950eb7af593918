import type { Json } from '../lib/json.ts'
import { systemScope } from '../storage/change-set.ts'
import { kind, type RecordOf, type Records } from '../storage/records.ts'
import type { SettingsDocument, SettingsOf } from './keys.ts'
import { defaultsOf, mergeSections } from './sections.ts'

/** The kind of record that holds a settings document: `doc` is sections by name. */
export const settingsKind = kind<SettingsDoc>('system_config')

export type SettingsDoc = Record<string, Json>

type SettingsRecord = RecordOf<typeof settingsKind>

export type Settings = ReturnType<typeof createSettings>

const noSections: SettingsDoc = {}

/**
 * The values that administrators have set: node over default over the schema's defaults. Read again on each
 * call; the store caches them.
 */
export const createSettings = (records: Records, node: string) => {
  const fallbacks = new Map<SettingsDocument, Json>()
  const merged = new WeakMap<SettingsRecord, Json>()

  const fallback = (document: SettingsDocument) => {
    const values = fallbacks.get(document) ?? defaultsOf(document.shape)
    fallbacks.set(document, values)
    return values
  }

  const merge = (document: SettingsDocument, record: SettingsRecord) => {
    const value = mergeSections(fallback(document), record.doc.default, record.doc[node])
    merged.set(record, value)
    return value
  }

  const read = (document: SettingsDocument) => records.find(systemScope, settingsKind, document.id)

  return {
    async of<Document extends SettingsDocument>(document: Document) {
      const record = await read(document)
      const value = record ? (merged.get(record) ?? merge(document, record)) : fallback(document)
      return value as SettingsOf<Document>
    },

    /** The stored sections as they are, without defaults. The same object as long as nothing changes. */
    sections: async (document: SettingsDocument) => (await read(document))?.doc ?? noSections,
  }
}
