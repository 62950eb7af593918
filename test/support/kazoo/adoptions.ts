// Records of another system, taken in as an import does it: past all gates.
import { hash } from 'node:crypto'
import type { Draft } from '../../../import-kazoo/documents/document.ts'
import type { ImportedFile, ImportedRecord } from '../../../src/areas/adoption.ts'
import { type AreaDeps, area, type Collected } from '../../../src/areas/area.ts'
import { hasProblems } from '../../../src/lib/failure.ts'
import { ChangeSet } from '../../../src/storage/change-set.ts'
import type { World } from '../world/world.ts'

type Files = Readonly<Record<string, readonly ImportedFile[]>>

const arrivalOf = (
  { as: _, files: __, ...draft }: Draft,
  files: readonly ImportedFile[],
): ImportedRecord => ({
  ...draft,
  files,
  revision: hash('md5', JSON.stringify([draft, files])),
})

/** Collects the importers of areas: the area is added to the list of the world. */
export const createTaker = () => {
  const own = {} as Pick<Collected, 'adoptions'> & Pick<AreaDeps, 'validate'>
  const taker = area({
    name: 'taker',
    collects: ['adoptions'],
    create({ validate }, _needs, { adoptions }) {
      Object.assign(own, { adoptions, validate })
      return {}
    },
  })

  const adoptionOf = (name: string) => {
    const adoption = own.adoptions[name]
    if (!adoption) throw new Error(`no importer for ${name}`)
    return adoption
  }

  /** Keys that break the schema are set aside. */
  const sound = async (draft: Draft): Promise<Draft> => {
    const { schema } = adoptionOf(draft.as)
    if (!schema) return draft
    const { value, sound: kept, problems } = await own.validate(schema, draft.doc)
    return { ...draft, doc: { ...(hasProblems(problems) ? kept : (value as object)) } }
  }

  const summaryOf = ({ accountId, as }: Draft) =>
    ({ accountId: accountId || 'system', kind: 'import', id: as, action: 'created' }) as const

  return {
    taker,
    adoptionOf,

    /**
     * Imports drafts of one kind, replacing others. Returns for each whether it was added. `files` by the ids
     * of drafts.
     */
    async takeIn(
      { server }: World,
      drafts: readonly Draft[],
      files: Files = {},
      instead: readonly Draft[] = [],
    ): Promise<boolean[]> {
      const [first] = drafts
      if (!first) return []
      const adoption = adoptionOf(first.as)
      const sounds = await Promise.all(drafts.map(sound))
      const arrivals = sounds.map((draft) => arrivalOf(draft, files[draft.id] ?? []))
      await adoption.prepare?.(arrivals)
      const set = new ChangeSet({ requestId: 'import' })
      set.summary = summaryOf(first)
      for (const { accountId, id } of instead) await adoption.remove(set, { accountId, id })
      const added: boolean[] = []
      for (const arrival of arrivals) added.push(await adoption.put(set, arrival))
      if (set.changes.length > 0) await server.store.adopt(set)
      return added
    },

    async takeOut({ server }: World, { as, accountId, id }: Draft): Promise<boolean> {
      const set = new ChangeSet({ requestId: 'import' })
      const isGone = await adoptionOf(as).remove(set, { accountId, id })
      if (set.changes.length > 0) await server.store.adopt(set)
      return isGone
    },
  }
}
