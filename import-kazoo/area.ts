import { accountsArea } from '../src/areas/accounts/accounts/area.ts'
import { usersArea } from '../src/areas/accounts/users/area.ts'
import { importMaster } from '../src/areas/adopted-master.ts'
import type { Importer } from '../src/areas/adoption.ts'
import { area } from '../src/areas/area.ts'
import { paymentsArea } from '../src/areas/billing/payments/area.ts'
import { servicesArea } from '../src/areas/billing/services/area.ts'
import { cdrsArea } from '../src/areas/calls/cdrs/area.ts'
import { phoneNumbersArea } from '../src/areas/numbers/phone-numbers/area.ts'
import { importsArea } from '../src/areas/system/imports/area.ts'
import { callflowsArea } from '../src/areas/voice/callflows/area.ts'
import { connectivityArea } from '../src/areas/voice/connectivity/area.ts'
import { createDatabaseComparison } from './comparing/operations.ts'
import type { Use } from './conversions/numbers.rules.ts'
import { createExport } from './export/operations.ts'
import { createImport } from './import-run/operations.ts'
import { createPreservedDocuments } from './import-run/preserved-documents.sql.ts'
import { createImportSections } from './import-sections/sections.ts'

export const kazooArea = area({
  name: 'kazoo',
  needs: {
    states: importsArea,
    accounts: accountsArea,
    users: usersArea,
    services: servicesArea,
    phoneNumbers: phoneNumbersArea,
    payments: paymentsArea,
    callflows: callflowsArea,
    connectivity: connectivityArea,
    cdrs: cdrsArea,
  },
  collects: ['adoptions'],
  create(tools, needs, { adoptions }) {
    const { states, accounts, users, services, phoneNumbers, payments } = needs
    const { callflows, connectivity, cdrs } = needs
    const { store, validate, keyring, leases, deriver, declared } = tools
    const keeping = createPreservedDocuments(store)

    const accountAdoption = adoptions.account
    if (!accountAdoption) throw new Error('no importer for accounts')
    const accountOrMaster: Importer = {
      ...accountAdoption,
      async put(set, arrival) {
        const { tree } = arrival.facts
        const isMaster = Array.isArray(tree) && tree.length === 0
        if (isMaster && (await importMaster({ accounts, users, services }, set, arrival))) return true
        return accountAdoption.put(set, arrival)
      },
    }

    const usesOf = async (accountId: string, number: string): Promise<Use[]> => [
      ...((await callflows.byNumber(accountId, number)) ? (['callflow'] as const) : []),
      ...((await connectivity.byNumber(accountId, number)) ? (['trunkstore'] as const) : []),
    ]
    const { settings, chapters } = createImportSections(declared, { of: usesOf })
    const checking = {
      ...{ store, validate, states, chapters, legAdoption: cdrs.legAdoption },
      adoptions: { ...adoptions, account: accountOrMaster, kazoo_kept: keeping.adoption },
      numbers: phoneNumbers.numbers.store,
    }
    return {
      offers: {
        imports: createImport({
          ...{ ...checking, keyring, leases, deriver, settings },
          billedThere: payments.takeOver,
        }),
        compare: createDatabaseComparison({ ...checking, chapters: [settings, ...chapters] }),
        keeping,
        leave: createExport({
          store,
          accounts,
          quantities: services.quantities,
          numbers: phoneNumbers.numbers.store,
          months: cdrs.months,
          keeping,
        }),
      },
    }
  },
})
