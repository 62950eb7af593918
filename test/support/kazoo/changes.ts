// Changes that people make in a Kazoo while an import reads it: they edit, create, delete and move documents.
import { hash } from 'node:crypto'
import { isObject, type Json } from '../../../src/lib/json.ts'
import type { Documents } from './kept-database.ts'
import { databaseOf, encodedName, gregorian, idOf } from './sample.ts'

import type { Kazoo } from './stand-in.ts'

interface Place {
  database: string
  id: string
}

const began = gregorian(2025, 1, 1)
const maxAccounts = 20
// Each new user needs derived keys.
const fewestUsers = 8

/** Numbers from 0 up to a bound, the same ones for the same seed. */
const createRandom = (seed: string) => {
  let drawn = 0
  return (bound: number) => {
    drawn += 1
    return Number.parseInt(hash('md5', `${seed} ${drawn}`).slice(0, 8), 16) % bound
  }
}

const fieldsIn = (text: string) => {
  const fields: unknown = JSON.parse(text)
  if (!isObject(fields)) throw new Error('a document is an object')
  return fields as Json & { _id: string }
}

/** Each call of the returned function makes one change. */
export const createChanges = (kazoo: Kazoo, system: ReadonlyMap<string, Documents>, seed: string) => {
  const random = createRandom(seed)
  const living = new Map<string, Place[]>()
  const placesOf = (type: string) => living.get(type) ?? []
  const add = (type: string, place: Place) => living.set(type, [...placesOf(type), place])
  for (const [database, documents] of system) {
    for (let index = 0; index < documents.count; index += 1) {
      const { pvt_type: type, _id: id } = fieldsIn(documents.at(index).text)
      // Accounts and numbers are in two databases.
      const isCopy = database.startsWith('account/') && (type === 'account' || type === 'number')
      if (!isCopy) add(String(type), { database, id })
    }
  }
  let count = 0
  const anyOf = (type: string) => {
    const places = placesOf(type)
    const place = places[random(places.length)]
    if (!place) throw new Error(`there is no ${type}`)
    return place
  }
  const fieldsOf = ({ database, id }: Place) => fieldsIn(kazoo.text(database, id) ?? '{}')

  const edit = (type: string, change: (fields: Json) => Json) => {
    const place = anyOf(type)
    const fields = fieldsOf(place)
    kazoo.put(place.database, { ...fields, ...change(fields) })
  }

  const addLike = (type: string, change: (database: string) => Json & { _id: string }) => {
    const { database, id } = anyOf(type)
    const { _rev: _, ...fields } = fieldsOf({ database, id })
    const added = { ...fields, ...change(database) }
    kazoo.put(database, added)
    add(type, { database, id: added._id })
  }

  const remove = (type: string) => {
    if (placesOf(type).length < 3) return
    const place = anyOf(type)
    living.set(
      type,
      placesOf(type).filter((one) => one !== place),
    )
    kazoo.remove(place.database, place.id)
  }

  const hire = () => {
    if (placesOf('user').length < fewestUsers)
      addLike('user', () => ({ _id: idOf(`user ${count}`), username: `new${count}` }))
  }

  const renameAccount = () => {
    const { database, id } = anyOf('account')
    const renamed = { ...fieldsOf({ database, id }), name: `Renamed ${count}` }
    kazoo.put(database, renamed)
    kazoo.put(databaseOf(id), { ...fieldsOf({ database: databaseOf(id), id }), name: `Renamed ${count}` })
  }

  const moveNumber = () => {
    const place = anyOf('number')
    const fields = fieldsOf(place)
    const to = anyOf('account').id
    const moved = { ...fields, pvt_assigned_to: to }
    kazoo.put(place.database, moved)
    kazoo.remove(databaseOf(String(fields.pvt_assigned_to)), place.id)
    kazoo.put(databaseOf(to), moved)
  }

  /** The accounts above a child of `parent`. */
  const treeBelow = (parent: Place) => {
    const { pvt_tree: above } = fieldsOf(parent)
    return [...(Array.isArray(above) ? above.map(String) : []), parent.id]
  }

  const openAccount = () => {
    if (placesOf('account').length > maxAccounts) return
    const id = idOf(`account ${count}`)
    const account = {
      _id: id,
      name: `New account ${count}`,
      realm: `new${count}.sip.example`,
      pvt_type: 'account',
      pvt_account_id: id,
      pvt_account_db: encodedName(databaseOf(id)),
      pvt_created: began,
      pvt_modified: began,
      pvt_tree: treeBelow(anyOf('account')),
      pvt_enabled: true,
    }
    kazoo.put('accounts', account)
    kazoo.put(databaseOf(id), account)
    add('account', { database: 'accounts', id })
  }

  /** One that has none below it. */
  const moveAccount = () => {
    const place = anyOf('account')
    const above = placesOf('account').flatMap((other) => treeBelow(other).slice(0, -1))
    const parent = anyOf('account')
    if (above.includes(place.id) || parent.id === place.id) return
    const moved = { pvt_tree: treeBelow(parent) }
    kazoo.put('accounts', { ...fieldsOf(place), ...moved })
    const database = databaseOf(place.id)
    kazoo.put(database, { ...fieldsOf({ database, id: place.id }), ...moved })
  }

  /** Its numbers lead somewhere, though no document of theirs has changed. */
  const route = () => {
    const { database, id } = anyOf('number')
    const accountId = String(fieldsOf({ database, id }).pvt_assigned_to)
    const callflow = {
      _id: idOf(`callflow ${count}`),
      pvt_type: 'callflow',
      pvt_account_id: accountId,
      pvt_account_db: encodedName(databaseOf(accountId)),
      pvt_created: began,
      pvt_modified: began,
      numbers: [id],
      flow: { module: 'hangup', data: {}, children: {} },
    }
    kazoo.put(databaseOf(accountId), callflow)
    add('callflow', { database: databaseOf(accountId), id: callflow._id })
  }

  const monthOf = (database: string) => database.slice(-6)

  const callAgain = () =>
    addLike('cdr', (database) => {
      const callId = `again-${count}@10.1.2.3`
      return { _id: `${monthOf(database)}-${callId}`, call_id: callId, other_leg_call_id: undefined }
    })

  /** A debit of the last month: no later month begins with its balance. */
  const debit = (month: string) => {
    const accountId = anyOf('account').id
    const database = databaseOf(accountId, month)
    const like = placesOf('ledger').find(
      (place) => place.database === database && !place.id.endsWith('rollover'),
    )
    if (!like) return
    const id = `${month}-${idOf(`debit ${count}`)}`
    const { _rev: _, ...fields } = fieldsOf(like)
    kazoo.put(database, { ...fields, _id: id, amount: 100 + count, pvt_account_db: encodedName(database) })
  }

  const lastMonth =
    [...system.keys()]
      .map(monthOf)
      .filter((name) => /^\d{6}$/.test(name))
      .sort()
      .at(-1) ?? ''

  const kinds: (() => void)[] = [
    () => edit('user', () => ({ first_name: `Changed ${count}` })),
    () => edit('device', () => ({ name: `Changed phone ${count}` })),
    // Names that two want: who keeps one may change with each of these.
    () => edit('user', () => ({ username: `name${random(3)}` })),
    () => edit('device', () => ({ mac_address: `00:00:00:00:00:0${random(4)}` })),
    () => edit('device', () => ({ owner_id: anyOf('user').id })),
    () => edit('limits', () => ({ inbound_trunks: count % 50 })),
    () => edit('rate', () => ({ rate_cost: (1 + (count % 90)) / 100 })),
    () =>
      addLike('device', () => ({
        _id: idOf(`device ${count}`),
        name: `New phone ${count}`,
        mac_address: undefined,
        sip: { username: `new${count}`, password: idOf(`new ${count}`) },
      })),
    () => remove('device'),
    () => remove('user'),
    hire,
    renameAccount,
    openAccount,
    moveAccount,
    moveNumber,
    route,
    () => remove('callflow'),
    callAgain,
    () => debit(lastMonth),
  ]

  return () => {
    count += 1
    kinds[random(kinds.length)]?.()
    return count
  }
}
