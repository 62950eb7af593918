import { movingUpgrade, type Run } from './upgrades.ts'

/** Tables of the engines' own and of their tools are none of ours. */
export interface StoreTables {
  names: readonly string[]
  /** The last upgrade; undefined when it is no store of Crosspoint. */
  upgrade: number | undefined
}

const upgradesTable = 'storage_upgrades'

export const standingOf = async (run: Run, names: readonly string[]): Promise<StoreTables> => {
  if (!names.includes(upgradesTable)) return { names, upgrade: undefined }
  const [row] = await run(`SELECT max(number) AS number FROM ${upgradesTable}`)
  return { names, upgrade: Number(row?.number ?? 0) }
}

export const countsOf = async (run: Run, names: readonly string[]): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const name of names) {
    const [row] = await run(`SELECT count(*) AS count FROM "${name}"`)
    counts[name] = Number(row?.count)
  }
  return counts
}

/** Whether a server has set the store up, or a move has begun to: it has declared its key. */
export const isSetUp = async (run: Run, { upgrade }: StoreTables): Promise<boolean> =>
  upgrade === movingUpgrade ||
  (upgrade !== undefined &&
    (await run("SELECT id FROM records WHERE account_id = 'system' AND kind = 'server_key' LIMIT 1")).length >
      0)
