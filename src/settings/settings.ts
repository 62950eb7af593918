import type { Json } from '../lib/json.ts'
import { type Soon, whenThere } from '../lib/soon.ts'
import { systemScope } from '../storage/change-set.ts'
import { kind, type RecordOf, type Records } from '../storage/records.ts'
import type { Documents, SettingsName, SettingsOf } from './documents.ts'
import { defaultsOf, mergeSections } from './sections.ts'

/** The kind of record that holds a settings document: `doc` is sections by name. */
export const settingsKind = kind<SettingsDoc>('system_config')

export type SettingsDoc = Record<string, Json>

type SettingsRecord = RecordOf<typeof settingsKind>

/** What administrators have set, node over default over the schema's defaults. Read anew on each call; cached by the store. */
export interface Settings {
  of<Name extends SettingsName>(name: Name): Soon<SettingsOf<Name>>
  /** The stored sections as they are, without defaults. The same object as long as nothing changes. */
  sections(name: SettingsName): Soon<SettingsDoc>
}

const noSections: SettingsDoc = {}

interface Reading {
  era: number
  sections: SettingsDoc
  value: Json
}

export const createSettings = (records: Records, node: string, documents: Documents): Settings => {
  const fallbacks = new Map<string, Json>()
  const merged = new WeakMap<SettingsRecord, Json>()
  const readings = new Map<SettingsName, Reading>()

  const fallback = (name: SettingsName) => {
    const known = fallbacks.get(name)
    if (known) return known
    const document = documents[name]
    if (!document) throw new Error(`no area of this server owns the settings document ${name}`)
    const values = defaultsOf(document)
    fallbacks.set(name, values)
    return values
  }

  const merge = (name: SettingsName, record: SettingsRecord) => {
    const value = mergeSections(fallback(name), record.doc.default, record.doc[node])
    merged.set(record, value)
    return value
  }

  const readAnew = async (name: SettingsName, era: number): Promise<Reading> => {
    const record = await records.find(systemScope, settingsKind, name)
    const reading = {
      era,
      sections: record?.doc ?? noSections,
      value: record ? (merged.get(record) ?? merge(name, record)) : fallback(name),
    }
    readings.set(name, reading)
    return reading
  }

  const read = (name: SettingsName): Soon<Reading> => {
    const era = records.era()
    const known = readings.get(name)
    return known?.era === era ? known : readAnew(name, era)
  }

  return {
    of: <Name extends SettingsName>(name: Name) =>
      whenThere(read(name), ({ value }) => value as SettingsOf<Name>),
    sections: (name) => whenThere(read(name), ({ sections }) => sections),
  }
}
