import type { accountsArea } from '../../accounts/accounts/area.ts'
import type { AreaDeps, OffersOf } from '../../area.ts'
import type { whitelabelArea } from '../../brand/whitelabel/area.ts'
import type { ledgersArea } from '../ledgers/area.ts'
import type { servicesArea } from '../services/area.ts'

type Offers = OffersOf<readonly [typeof accountsArea, typeof ledgersArea, typeof whitelabelArea]>

/** The dependencies of all parts of this area. */
export interface PaymentDeps
  extends AreaDeps,
    Offers,
    NonNullable<OffersOf<readonly [typeof servicesArea]>['services']> {}
