import type { TSchema } from 'typebox'
import {
  badIdentifier,
  badIdentifierList,
  failure,
  joinProblems,
  type Problems,
} from '../../../lib/failure.ts'
import { type Json, sameJson } from '../../../lib/json.ts'
import { createRemoval } from '../../../lib/removal.ts'
import { visibleSecrets, withStoredSecrets } from '../../../lib/secrets.ts'
import { defaultsOf, isSettingsName } from '../../../settings/sections.ts'
import { type SettingsDoc, settingsKind } from '../../../settings/settings.ts'
import { type Warning, warningsOf } from '../../../settings/unknown-keys.ts'
import { type Author, type ChangeSet, systemScope } from '../../../storage/change-set.ts'
import { createCollection, putDocument, readsOf } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import { committed, type Store } from '../../../storage/store.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import type { Declared, DepsOf } from '../../area.ts'
import { validPartOf } from '../../valid-part.ts'
import {
  documentShape,
  effectiveSection,
  nameProblems,
  partialOf,
  sectionIn,
  sectionPath,
  sectionProblems,
  storedHalf,
  underPath,
} from './rules.ts'

type SystemConfigHidden = Record<never, never>
export type SystemConfigStored = StoredRecord<SettingsDoc, SystemConfigHidden>

interface Deps extends DepsOf<'store' | 'node' | 'validate'> {
  declared: Pick<Declared, 'settings'>
  /** Problems of TLS files, by key. */
  tlsProblems(section: Json): Promise<Problems>
}

/** `record` is undefined if nothing is stored. */
export interface SystemConfigSubject {
  name: string
  record: SystemConfigStored | undefined
  sections: SettingsDoc
  defaults: Json
  revision?: string
  /** Merged with a PATCH. */
  doc: Json
}

/** A whole document, or changes that are merged already. */
export type UpdateMode = 'whole' | 'changed'

interface SentSection {
  values: Json
  sent: UpdateMode
}

const unknownDocument =
  'The server does not use this document. Accounts can read it under configs, unless hidden_documents of crossbar.configs contains its name'

const tlsKeys = ['use_ssl', 'ssl_port', 'ssl_cert', 'ssl_key', 'ssl_ca_cert', 'ssl_password']

/** Works on each section. */
const mapSections = async (sections: SettingsDoc, work: (section: string, values: Json) => Promise<Json>) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(sections).map(async ([section, values]) => [section, await work(section, values)]),
    ),
  ) as SettingsDoc

/** The schemas of documents, and what follows from them for a section. */
const createSchemas = ({ declared, node, validate, tlsProblems }: Deps) => {
  const partials = new Map<string, TSchema>()

  const schemaOf = (name: string) =>
    Object.hasOwn(declared.settings, name) ? declared.settings[name] : undefined

  const partialSchema = (name: string) => {
    const schema = schemaOf(name)
    if (!schema) return undefined
    const partial = partials.get(name) ?? (partialOf(schema) as TSchema)
    partials.set(name, partial)
    return partial
  }

  const validated = async (name: string, section: Json) => {
    const schema = partialSchema(name)
    if (!schema) return { value: section, sound: section, problems: {} }
    const { value, sound, problems } = await validate(schema, section)
    return { value: value as Json, sound: sound as Json, problems }
  }

  /** Only changed files, or all when TLS is enabled: an older file may be missing. */
  const fileProblems = async (
    { name, sections, defaults }: SystemConfigSubject,
    section: string,
    values: Json,
  ): Promise<[string, Problems[string]][]> => {
    const isFollowedHere = section === 'default' || section === node
    if (name !== 'crossbar' || !isFollowedHere) return []
    const before = effectiveSection(sections, section, defaults)
    const after = effectiveSection({ ...sections, [section]: values }, section, defaults)
    const changed = tlsKeys.filter((key) => !sameJson(before[key], after[key]))
    if (changed.length === 0) return []
    const found = Object.entries(await tlsProblems(after))
    return found.filter(([key]) => after.use_ssl === true || changed.includes(key))
  }

  return {
    schemaOf,
    shapeOf: (name: string) => documentShape(schemaOf(name)),

    defaultsOf(name: string) {
      const schema = schemaOf(name)
      return schema ? defaultsOf(schema) : {}
    },

    async problems(subject: SystemConfigSubject, section: string, values: Json): Promise<Problems> {
      const { sound, problems } = await validated(subject.name, values)
      const files = await fileProblems(subject, section, sound)
      return joinProblems(
        Object.fromEntries(files.filter(([key]) => !(key in problems))),
        sectionProblems(subject.name, sound),
        problems,
      )
    },

    cast: (name: string, sections: SettingsDoc) =>
      mapSections(sections, async (_section, values) => (await validated(name, values)).value),

    /** The valid part of an imported section, and the paths of the rest. */
    async validPart(name: string, section: Json): Promise<{ doc: Json; failing: string[] }> {
      const schema = partialSchema(name)
      const valid = schema && (await validPartOf(validate, schema, section))
      const { rest, removed, remove } = createRemoval(valid?.doc ?? section)
      remove(Object.keys(sectionProblems(name, rest)).map((path) => path.split('.', 1)))
      const places = [...(valid?.removed ?? []), ...removed].map(({ place }) => place.join('.'))
      return { doc: rest, failing: [...places, ...(valid?.unsolved ?? [])] }
    },
  }
}

type Schemas = ReturnType<typeof createSchemas>

const assertName = (name: string) => {
  if (!isSettingsName(name)) throw failure(badIdentifier, { cause: name.slice(0, 200) })
}

type Configs = ReturnType<typeof createConfigs>

const createConfigs = (store: Store, shapeOf: Schemas['shapeOf']) =>
  createCollection<SettingsDoc, SystemConfigHidden>(store, {
    kind: settingsKind,
    secrets: shapeOf,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

const configReads = (configs: Configs, { schemaOf, shapeOf, defaultsOf }: Schemas) => {
  const assertKnown = ({ name, record }: SystemConfigSubject) => {
    if (!record && !schemaOf(name)) throw failure(badIdentifier, { cause: name })
  }

  const subject = async (name: string): Promise<SystemConfigSubject> => {
    assertName(name)
    const record = await configs.find(systemScope, name)
    const sections = record?.doc ?? {}
    const revision = record ? { revision: record.revision } : {}
    return { name, record, sections, defaults: defaultsOf(name), ...revision, doc: sections }
  }

  return {
    ...readsOf(configs),
    subject,

    /** A PATCH is merged into one section. */
    async sectionSubject(name: string, section: string): Promise<SystemConfigSubject> {
      const found = await subject(name)
      assertName(section)
      return { ...found, doc: sectionIn(found.sections, section) ?? {} }
    },

    /** `default`, or all sections, with inherited values. */
    read(subject: SystemConfigSubject, fill: 'default' | 'all'): SettingsDoc {
      assertKnown(subject)
      const { sections, defaults } = subject
      const filled: SettingsDoc = { default: effectiveSection(sections, 'default', defaults) }
      for (const [section, values] of Object.entries(sections)) {
        if (section === 'default') continue
        filled[section] = fill === 'all' ? effectiveSection(sections, section, defaults) : values
      }
      return filled
    },

    readSection(subject: SystemConfigSubject, section: string): Json {
      assertKnown(subject)
      return effectiveSection(subject.sections, section, subject.defaults)
    },

    shown: (name: string, sections: SettingsDoc) => visibleSecrets(shapeOf(name), sections) as SettingsDoc,

    shownSection: (name: string, values: Json) => visibleSecrets(schemaOf(name), values),

    /** Keys that the server does not use. */
    warnings(name: string, sections: SettingsDoc): Warning[] {
      const schema = schemaOf(name)
      return schema
        ? Object.entries(sections).flatMap(([section, values]) => warningsOf(schema, values, [section]))
        : [{ path: name, message: unknownDocument }]
    },

    sectionWarnings(name: string, values: Json): Warning[] {
      const schema = schemaOf(name)
      return schema ? warningsOf(schema, values) : []
    },
  }
}

/** Imports the valid part of each section. */
const importerOf = (configs: Configs, { validPart, defaultsOf }: Schemas): Importer => ({
  ...importingInto(configs, async ({ id, doc }) => {
    const sections = await mapSections(
      doc as SettingsDoc,
      async (_section, values) => (await validPart(id, values)).doc,
    )
    return { doc: storedHalf(sections, defaultsOf(id)), hidden: {} }
  }),
  async leavesOut({ id, doc }) {
    const left: string[] = []
    for (const [section, values] of Object.entries(doc as SettingsDoc))
      for (const key of (await validPart(id, values)).failing) left.push(`${section}.${key}`)
    return left
  },
})

export type SystemConfigs = ReturnType<typeof createSystemConfigs>

export const createSystemConfigs = (deps: Deps) => {
  const { store } = deps
  const schemas = createSchemas(deps)
  const { schemaOf, shapeOf, problems, cast } = schemas
  const configs = createConfigs(store, shapeOf)

  const save = async (author: Author, subject: SystemConfigSubject, sections: SettingsDoc) => {
    const { name: id, record: before, defaults } = subject
    const doc = storedHalf(await cast(id, sections), defaults)
    return committed(store, author, (set) =>
      putDocument(set, configs, { accountId: systemScope, id }, { before, doc, hidden: {} }),
    )
  }

  const wholeOf = ({ name, sections }: SystemConfigSubject, given: SettingsDoc, sent: UpdateMode) =>
    withStoredSecrets(shapeOf(name), given, sections, sent) as SettingsDoc

  const sectionOf = (
    { name, sections }: SystemConfigSubject,
    section: string,
    { values, sent }: SentSection,
  ) => withStoredSecrets(schemaOf(name), values, sectionIn(sections, section) ?? {}, sent)

  const remove = async (author: Author, { name, record }: SystemConfigSubject) => {
    if (!record) throw failure(badIdentifier, { cause: name })
    await committed(store, author, (set) => configs.remove(set, record))
    return record
  }

  return {
    ...configReads(configs, schemas),
    adoption: importerOf(configs, schemas),
    remove,

    /** The document must not exist. */
    addTo: (set: ChangeSet, name: string, sections: SettingsDoc) =>
      configs.insert(set, configs.draft(systemScope, { doc: sections, hidden: {} }, name)),

    async judge(subject: SystemConfigSubject, given: SettingsDoc, sent: UpdateMode): Promise<Problems> {
      const sections = wholeOf(subject, given, sent)
      const found: Problems[] = [nameProblems(sections)]
      for (const [section, values] of Object.entries(sections))
        found.push(underPath(sectionPath(section), await problems(subject, section, values)))
      return joinProblems(...found)
    },

    judgeSection: (subject: SystemConfigSubject, section: string, given: SentSection) =>
      problems(subject, section, sectionOf(subject, section, given)),

    replace: (author: Author, subject: SystemConfigSubject, given: SettingsDoc, sent: UpdateMode) =>
      save(author, subject, wholeOf(subject, given, sent)),

    async replaceSection(author: Author, subject: SystemConfigSubject, section: string, given: SentSection) {
      const values = sectionOf(subject, section, given)
      const record = await save(author, subject, { ...subject.sections, [section]: values })
      return { record, values: sectionIn(record.doc, section) ?? {} }
    },

    /** The document is removed with its last section. */
    async removeSection(author: Author, subject: SystemConfigSubject, section: string) {
      const values = sectionIn(subject.sections, section)
      if (!subject.record || !values) throw failure(badIdentifierList, { values: [section] })
      const { [section]: _removed, ...rest } = subject.sections
      const isLast = Object.keys(rest).length === 0
      return { record: await (isLast ? remove(author, subject) : save(author, subject, rest)), values }
    },
  }
}
