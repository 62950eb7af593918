/** Names of carriers as clients give and get them, in the order in which they are told. */
export const usableCarriers = [
  'bandwidth2',
  'bandwidth',
  'inum',
  'local',
  'inventory',
  'managed',
  'mdn',
  'other',
  'simwood',
  'telnyx',
  'vitelity',
  'voip_innovations',
  'voxbone',
  'didww',
  'flowroute',
  'inteliquent',
  'it_vocal',
  'level3',
  'o1',
  'peerless',
  'thinq',
  'verizon',
  'windstream',
  'ziron',
] as const

type CarrierName = (typeof usableCarriers)[number]

/** The name under which a number keeps its carrier. The two `reserved` modules only search. */
export type CarrierModule = `knm_${CarrierName | 'reserved' | 'reserved_reseller'}`

/** The modules that may be asked for numbers, as settings name them. */
export const carrierModules: readonly CarrierModule[] = (
  [...usableCarriers, 'reserved', 'reserved_reseller'] as const
).map((name) => `knm_${name}` as const)

/** The modules that a number may have. */
export const numberModules = usableCarriers.map((name) => `knm_${name}` as const)

/** The module that a name means: with or without its prefix, with the prefix of old installations. */
export const moduleOf = (name: string): CarrierModule | undefined => {
  const bare = name.replace(/^[kw]nm_/, '')
  // The first interface of this carrier is gone; what it brought is served by the second.
  const today = bare === 'bandwidth' && name !== bare ? 'bandwidth2' : bare
  const module = `knm_${today}`
  return carrierModules.find((one) => one === module)
}

/** A module's name without its prefix, as clients read it. */
export const carrierNameOf = (module: string) => module.replace(/^knm_/, '')

const free: ReadonlySet<string> = new Set([
  'knm_local',
  'knm_inventory',
  'knm_reserved',
  'knm_reserved_reseller',
  'knm_inum',
  'knm_mdn',
])

/** Whether numbers of a carrier cost something by being there. */
export const isBillable = (module: string) => !free.has(module)

const prefixLengths: Readonly<Partial<Record<CarrierModule, number>>> = {
  knm_local: 10,
  knm_inventory: 10,
  knm_reserved: 10,
  knm_reserved_reseller: 10,
  knm_managed: 15,
  knm_inum: 15,
  knm_mdn: 0,
  knm_other: 10,
}

const longestPrefixes: ReadonlyMap<string, number> = new Map(Object.entries(prefixLengths))

/** Digits of a prefix that a carrier can search by. Carriers that are outside companies take an area code. */
export const maximalPrefixLengthOf = (module: string) => longestPrefixes.get(module) ?? 3
