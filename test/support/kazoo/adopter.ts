// Imports records of another system as an import does: a batch in one commit, after validation by the schemas.
import { createHash } from 'node:crypto'
import type { Draft } from '../../../import-kazoo/documents/document.ts'
import type { ImportedRecord, Importer } from '../../../src/areas/adoption.ts'
import { type AreaDeps, area } from '../../../src/areas/area.ts'
import { ChangeSet } from '../../../src/storage/change-set.ts'
import type { Store } from '../../../src/storage/store.ts'

const arrivalOf = ({ files: _, as: __, ...draft }: Draft): ImportedRecord => ({
  ...draft,
  revision: createHash('sha256').update(JSON.stringify(draft)).digest('hex').slice(0, 32),
  files: [],
})

export const createAdopter = () => {
  let adoptions: Readonly<Record<string, Importer>> = {}
  let validate: AreaDeps['validate'] | undefined

  const adoptionOf = (kind: string): Importer => {
    const adoption = adoptions[kind]
    if (!adoption) throw new Error(`no importer for ${kind}`)
    return adoption
  }

  const sound = async ({ schema }: Importer, arrival: ImportedRecord): Promise<ImportedRecord> => {
    if (!schema || !validate) return arrival
    const { sound: good, problems } = await validate(schema, arrival.doc)
    if (Object.keys(problems).length > 0)
      throw new Error(`${arrival.id} is not as it has to be: ${JSON.stringify(problems)}`)
    return { ...arrival, doc: { ...good } }
  }

  const putAll = async (set: ChangeSet, adoption: Importer, arrivals: readonly ImportedRecord[]) => {
    if (adoption.putMany) return adoption.putMany(set, arrivals)
    const put: boolean[] = []
    for (const arrival of arrivals) put.push(await adoption.put(set, arrival))
    return put
  }

  return {
    /** To be added to the areas of the server. */
    area: area({
      name: 'adopter',
      collects: ['adoptions'],
      create(tools, _needs, collected) {
        adoptions = collected.adoptions
        validate = tools.validate
        return {}
      },
    }),

    /** Imports records and returns how many of them were missing or different. */
    async adopt(store: Store, drafts: readonly Draft[]): Promise<number> {
      let added = 0
      for (const [kind, ofKind] of Map.groupBy(drafts, ({ as }) => as)) {
        const adoption = adoptionOf(kind)
        const arrivals = await Promise.all(ofKind.map((draft) => sound(adoption, arrivalOf(draft))))
        const set = new ChangeSet({ requestId: 'import' })
        const put = await putAll(set, adoption, arrivals)
        added += put.filter(Boolean).length
        if (set.changes.length > 0) await store.adopt(set)
      }
      for (const { settle } of Object.values(adoptions)) await settle?.()
      return added
    },

    /** Takes a record away again; whether there was one. */
    async remove(
      store: Store,
      { as, accountId, id }: Pick<Draft, 'as' | 'accountId' | 'id'>,
    ): Promise<boolean> {
      const adoption = adoptionOf(as)
      const set = new ChangeSet({ requestId: 'import' })
      const isGone = await adoption.remove(set, { accountId, id })
      if (set.changes.length > 0) await store.adopt(set)
      await adoption.settle?.()
      return isGone
    },
  }
}
