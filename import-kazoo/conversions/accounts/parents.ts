import type { SeenAccount } from './seen.ts'

/** Who stands above whom; the master account above everybody. */
export type Parents = Map<string, string | undefined>

interface Known {
  /** Accounts that stand here, and those that may have to, by id. */
  get(id: string): SeenAccount | undefined
}

/** The accounts above, as they are stored, the nearest first; those that nobody knows, and the account itself, left out. */
const candidates = ({ id, tree }: SeenAccount, known: Known) =>
  tree.filter((above) => above !== id && known.get(above) !== undefined).toReversed()

/** Those who are there, and those above them who have to be although nothing of them is left but a copy. */
export const withAncestors = (present: ReadonlyMap<string, SeenAccount>, copies: Known) => {
  const all = new Map(present)
  const known = { get: (id: string) => present.get(id) ?? copies.get(id) }
  // A map hands out what is added to it while it is being walked.
  for (const account of all.values()) {
    const [parentId] = candidates(account, known)
    const parent = parentId === undefined ? undefined : known.get(parentId)
    if (parent && !all.has(parent.id)) all.set(parent.id, parent)
  }
  return all
}

const olderFirst = (a: SeenAccount, b: SeenAccount) => a.created - b.created || (a.id < b.id ? -1 : 1)

export const oldestOf = (accounts: Iterable<SeenAccount>): SeenAccount | undefined =>
  [...accounts].reduce<SeenAccount | undefined>(
    (oldest, one) => (oldest === undefined || olderFirst(one, oldest) < 0 ? one : oldest),
    undefined,
  )

export const inOrderOfAge = (accounts: Iterable<SeenAccount>) => [...accounts].sort(olderFirst)

/**
 * The parent of each: the last one of its stored tree that is there; of those who have none, the master account. A
 * circle is cut at its oldest account, which comes to stand below another one of its tree, or below the master.
 */
export const parentsOf = (accounts: ReadonlyMap<string, SeenAccount>, masterId: string): Parents => {
  const parents: Parents = new Map()
  for (const account of accounts.values()) {
    const [parent = masterId] = candidates(account, accounts)
    parents.set(account.id, account.id === masterId ? undefined : parent)
  }
  const reachesMaster = new Set(topDown(parents, masterId))

  const cut = (circle: readonly string[]) => {
    const oldest = oldestOf(circle.flatMap((id) => accounts.get(id) ?? []))
    if (!oldest) return
    const other = candidates(oldest, accounts).find((id) => reachesMaster.has(id))
    parents.set(oldest.id, other ?? masterId)
  }

  for (const { id: start } of inOrderOfAge(accounts.values())) {
    const path: string[] = []
    const places = new Map<string, number>()
    let at = start
    while (!reachesMaster.has(at) && !places.has(at)) {
      places.set(at, path.length)
      path.push(at)
      at = parents.get(at) ?? masterId
    }
    const begun = places.get(at)
    if (begun !== undefined) cut(path.slice(begun))
    for (const id of path) reachesMaster.add(id)
  }
  return parents
}

/** Takes out accounts that had to be there for those below them, and have nobody below them in the end. */
export const withoutBarren = (parents: Parents, isNeeded: (id: string) => boolean): Parents => {
  const left = new Map(parents)
  const children = new Map<string, number>()
  for (const parent of parents.values())
    if (parent !== undefined) children.set(parent, (children.get(parent) ?? 0) + 1)
  const barren = [...parents.keys()].filter((id) => !isNeeded(id) && !children.has(id))
  for (const id of barren) {
    left.delete(id)
    const parent = parents.get(id)
    if (parent === undefined) continue
    const others = (children.get(parent) ?? 0) - 1
    children.set(parent, others)
    if (others === 0 && !isNeeded(parent)) barren.push(parent)
  }
  return left
}

/** Everybody below the master account, each behind who stands above it. */
export const topDown = (parents: Parents, masterId: string): string[] => {
  const below = new Map<string, string[]>()
  for (const [id, parent] of parents) {
    if (parent === undefined) continue
    const siblings = below.get(parent)
    if (siblings) siblings.push(id)
    else below.set(parent, [id])
  }
  const order = [masterId]
  for (const id of order) for (const child of (below.get(id) ?? []).sort()) order.push(child)
  return order
}
