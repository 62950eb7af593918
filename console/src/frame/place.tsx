import { getAccount, getLedgerTotal, getUser, listParents } from '@crosspoint/client'
import { createContext, type ReactNode, use } from 'react'
import { currencyInUse } from '../lib/amounts.ts'
import { useAnswer } from '../lib/answers.ts'
import { api, crosspoint } from '../lib/api.ts'
import type { Brand } from '../lib/brand.ts'
import { zoneOf } from '../lib/times.ts'

const BrandContext = createContext<Brand | undefined>(undefined)
export const BrandProvider = BrandContext.Provider

export const useBrand = (): Brand => {
  const brand = use(BrandContext)
  if (!brand) throw new Error('there is no brand above')
  return brand
}

/** The current account and its parents. */
export interface Place {
  accountId: string
  name: string
  realm: string
  timezone: string | undefined
  isReseller: boolean
  /** The account in the path, not that of the user. */
  isMaster: boolean
  isEnabled: boolean
  /** From the account of the token down to the one above this. */
  above: readonly { id: string; name: string }[]
  /** Whether this is the account that the user is of. */
  isOwn: boolean
  /** Whether the user is of the master account. */
  actsForMaster: boolean
  /** Whether the user is no admin: many requests are refused. API keys count as admins. */
  isPlainUser: boolean
}

const PlaceContext = createContext<Place | undefined>(undefined)

export const usePlace = (): Place => {
  const place = use(PlaceContext)
  if (!place) throw new Error('no account is open')
  return place
}

/** The address of a screen of the account that is open. */
export const useTo = () => {
  const { accountId } = usePlace()
  return (path: string) => `/a/${accountId}/${path}`
}

/** Reads the currency of all amounts, which every user of the account may read. Returns whether it is known. */
const useCurrency = (accountId: string) => {
  const { isPending } = useAnswer(['system_config', 'currency', accountId], async (signal) => {
    const { metadata } = await getLedgerTotal({ ...api, path: { account_id: accountId }, signal })
    const { currency } = metadata
    if (typeof currency === 'string') currencyInUse.set(currency)
    return currency ?? null
  })
  // Amounts are rendered inside this component, and again when the currency changes.
  currencyInUse.use()
  return !isPending
}

/** The user of the session; API keys have none. */
export const useOwnUser = () => {
  const { accountId = '', userId = '' } = crosspoint.session() ?? {}
  const path = { account_id: accountId, user_id: userId }
  return useAnswer(['user', accountId, userId], (signal) => getUser({ ...api, path, signal }), {
    enabled: userId !== '',
  })
}

export const usePlaceOf = (accountId: string) => {
  const account = useAnswer(['account', accountId], (signal) =>
    getAccount({ ...api, path: { account_id: accountId }, signal }),
  )
  const parents = useAnswer(['account', accountId, 'parents'], (signal) =>
    listParents({ ...api, path: { account_id: accountId }, query: { paginate: false }, signal }),
  )
  const knowsCurrency = useCurrency(accountId)
  const user = useOwnUser()
  const record = knowsCurrency && !user.isLoading ? account.data?.data : undefined
  const session = crosspoint.session()
  const actsForMaster = session?.login.is_master_account === true
  const isOwn = session?.accountId === accountId
  const place: Place | undefined = record && {
    accountId,
    name: record.name,
    realm: record.realm ?? '',
    timezone: zoneOf(record.timezone),
    isReseller: record.is_reseller === true,
    isMaster: isOwn && actsForMaster,
    isEnabled: record.enabled !== false,
    above: (parents.data?.data ?? []).map(({ id, name }) => ({ id, name })),
    isOwn,
    actsForMaster,
    isPlainUser: user.data?.data.priv_level === 'user',
  }
  return { place, error: account.error, again: account.refetch }
}

export const PlaceProvider = ({ place, children }: { place: Place; children: ReactNode }) => (
  <PlaceContext value={place}>{children}</PlaceContext>
)
