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
import { type Author, ChangeSet, systemScope } from '../../../storage/change-set.ts'
import { createCollection, putDocument, readsOf } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { SecretsOf } from '../../../storage/sealing.ts'
import type { Store } from '../../../storage/store.ts'
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

const createSystemConfigStore = (store: Store, secrets?: SecretsOf) =>
  createCollection<SettingsDoc, SystemConfigHidden>(store, {
    kind: settingsKind,
    ...(secrets ? { secrets } : {}),
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

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
  'No part of the server reads this document. Accounts read it under configs, unless hidden_documents of crossbar.configs contains its name'

const tlsKeys = ['use_ssl', 'ssl_port', 'ssl_cert', 'ssl_key', 'ssl_ca_cert', 'ssl_password']

export type SystemConfigs = ReturnType<typeof createSystemConfigs>

export const createSystemConfigs = ({ declared, store, node, validate, tlsProblems }: Deps) => {
  const collection = createSystemConfigStore(store, (name) => documentShape(schemaOf(name)))
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

  const judged = async (name: string, section: Json) => {
    const schema = partialSchema(name)
    if (!schema) return { value: section, sound: section, problems: {} }
    const { value, sound, problems } = await validate(schema, section)
    return { value: value as Json, sound: sound as Json, problems }
  }

  /** Only changed files, or all when TLS is enabled: an older file may be missing. */
  const fileProblems = async (
    subject: SystemConfigSubject,
    section: string,
    values: Json,
  ): Promise<Problems> => {
    const isFollowedHere = section === 'default' || section === node
    if (subject.name !== 'crossbar' || !isFollowedHere) return {}
    const before = effectiveSection(subject.sections, section, subject.defaults)
    const after = effectiveSection({ ...subject.sections, [section]: values }, section, subject.defaults)
    const changed = tlsKeys.filter((key) => !sameJson(before[key], after[key]))
    if (changed.length === 0) return {}
    const found = Object.entries(await tlsProblems(after))
    return Object.fromEntries(found.filter(([key]) => after.use_ssl === true || changed.includes(key)))
  }

  const judgeSection = async (
    subject: SystemConfigSubject,
    section: string,
    values: Json,
  ): Promise<Problems> => {
    const { sound, problems } = await judged(subject.name, values)
    const files = Object.entries(await fileProblems(subject, section, sound))
    return joinProblems(
      Object.fromEntries(files.filter(([key]) => !(key in problems))),
      sectionProblems(subject.name, sound),
      problems,
    )
  }

  const cast = async (name: string, sections: SettingsDoc): Promise<SettingsDoc> => {
    const entries = Object.entries(sections).map(async ([section, values]) => {
      const { value } = await judged(name, values)
      return [section, value] as const
    })
    return Object.fromEntries(await Promise.all(entries))
  }

  const save = async (author: Author, subject: SystemConfigSubject, sections: SettingsDoc) => {
    const { name, record, defaults } = subject
    const doc = storedHalf(await cast(name, sections), defaults)
    const set = new ChangeSet(author)
    const after = putDocument(
      set,
      collection,
      { accountId: systemScope, id: name },
      { before: record, doc, hidden: {} },
    )
    await store.commit(set)
    return after
  }

  const wholeOf = ({ name, sections }: SystemConfigSubject, given: SettingsDoc, sent: UpdateMode) =>
    withStoredSecrets(documentShape(schemaOf(name)), given, sections, sent) as SettingsDoc

  const sectionOf = (
    { name, sections }: SystemConfigSubject,
    section: string,
    { values, sent }: SentSection,
  ) => withStoredSecrets(schemaOf(name), values, sectionIn(sections, section) ?? {}, sent)

  const assertKnown = ({ name, record }: SystemConfigSubject) => {
    if (!record && !schemaOf(name)) throw failure(badIdentifier, { cause: name })
  }

  /** The valid part of an imported section, and the paths of the rest. */
  const followable = async (name: string, section: Json): Promise<{ doc: Json; failing: string[] }> => {
    const schema = partialSchema(name)
    const valid = schema && (await validPartOf(validate, schema, section))
    const { rest, removed, remove } = createRemoval(valid?.doc ?? section)
    remove(Object.keys(sectionProblems(name, rest)).map((path) => path.split('.', 1)))
    const places = [...(valid?.removed ?? []), ...removed].map(({ place }) => place.join('.'))
    return { doc: rest, failing: [...places, ...(valid?.unsolved ?? [])] }
  }

  const soundSections = async (name: string, sections: SettingsDoc): Promise<SettingsDoc> =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(sections).map(async ([section, values]) => [
          section,
          (await followable(name, values)).doc,
        ]),
      ),
    )

  return {
    ...readsOf(collection),

    /** Imports the valid part of each section. */
    adoption: {
      ...importingInto(collection, async ({ id, doc }) => {
        const schema = schemaOf(id)
        const sections = await soundSections(id, doc as SettingsDoc)
        return { doc: storedHalf(sections, schema ? defaultsOf(schema) : {}), hidden: {} }
      }),
      async leavesOut({ id, doc }) {
        const left: string[] = []
        for (const [section, values] of Object.entries(doc as SettingsDoc))
          for (const key of (await followable(id, values)).failing) left.push(`${section}.${key}`)
        return left
      },
    } satisfies Importer,

    /** The document must not exist. */
    addTo(set: ChangeSet, name: string, sections: SettingsDoc) {
      collection.insert(set, collection.draft(systemScope, { doc: sections, hidden: {} }, name))
    },

    async subject(name: string): Promise<SystemConfigSubject> {
      if (!isSettingsName(name)) throw failure(badIdentifier, { cause: name.slice(0, 200) })
      const record = await collection.find(systemScope, name)
      const schema = schemaOf(name)
      const sections = record?.doc ?? {}
      return {
        name,
        record,
        sections,
        defaults: schema ? defaultsOf(schema) : {},
        ...(record ? { revision: record.revision } : {}),
        doc: sections,
      }
    },

    /** A PATCH is merged into one section. */
    async sectionSubject(name: string, section: string): Promise<SystemConfigSubject> {
      const subject = await this.subject(name)
      if (!isSettingsName(section)) throw failure(badIdentifier, { cause: section.slice(0, 200) })
      return { ...subject, doc: sectionIn(subject.sections, section) ?? {} }
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

    shown: (name: string, sections: SettingsDoc) =>
      visibleSecrets(documentShape(schemaOf(name)), sections) as SettingsDoc,

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

    async judge(subject: SystemConfigSubject, given: SettingsDoc, sent: UpdateMode): Promise<Problems> {
      const sections = wholeOf(subject, given, sent)
      const found: Problems[] = [nameProblems(sections)]
      for (const [section, values] of Object.entries(sections)) {
        found.push(underPath(sectionPath(section), await judgeSection(subject, section, values)))
      }
      return joinProblems(...found)
    },

    judgeSection: (subject: SystemConfigSubject, section: string, { values, sent }: SentSection) =>
      judgeSection(subject, section, sectionOf(subject, section, { values, sent })),

    replace: (author: Author, subject: SystemConfigSubject, given: SettingsDoc, sent: UpdateMode) =>
      save(author, subject, wholeOf(subject, given, sent)),

    async replaceSection(author: Author, subject: SystemConfigSubject, section: string, given: SentSection) {
      const values = sectionOf(subject, section, given)
      const saved = await save(author, subject, { ...subject.sections, [section]: values })
      return { record: saved, values: sectionIn(saved.doc, section) ?? {} }
    },

    async remove(author: Author, { name, record }: SystemConfigSubject) {
      if (!record) throw failure(badIdentifier, { cause: name })
      const set = new ChangeSet(author)
      collection.remove(set, record)
      await store.commit(set)
      return record
    },

    /** The document is removed with its last section. */
    async removeSection(author: Author, subject: SystemConfigSubject, section: string) {
      const values = sectionIn(subject.sections, section)
      if (!subject.record || !values) throw failure(badIdentifierList, { values: [section] })
      const { [section]: _removed, ...rest } = subject.sections
      if (Object.keys(rest).length === 0) return { record: await this.remove(author, subject), values }
      return { record: await save(author, subject, rest), values }
    },
  }
}
