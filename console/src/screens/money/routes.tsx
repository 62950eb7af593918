import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { AccountOverrides } from './account-overrides.tsx'
import { CardList } from './cards.tsx'
import { InvoiceRecord } from './invoice.tsx'
import { InvoiceList } from './invoices.tsx'
import { LedgerList } from './ledger.tsx'
import { MoneyOverview } from './list.tsx'
import { NewServicePlan } from './new.tsx'
import { PlanOverrides } from './overrides.tsx'
import { AssignedPlans } from './plans.tsx'
import { ServicePlanRecord } from './record.tsx'
import { ServicePlanList } from './service-plans.tsx'
import { TransactionRecord } from './transaction.tsx'
import { TransactionList } from './transactions.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('money')}>
      <MoneyOverview />
    </Route>
    <Route path={at('money/ledgers/:source?')}>
      <LedgerList />
    </Route>
    <Route path={at('money/transactions')}>
      <TransactionList />
    </Route>
    <Route path={at('money/transactions/:transactionId')}>
      <TransactionRecord />
    </Route>
    <Route path={at('money/invoices')}>
      <InvoiceList />
    </Route>
    <Route path={at('money/invoices/:invoiceId')}>
      <InvoiceRecord />
    </Route>
    <Route path={at('money/plans')}>
      <AssignedPlans />
    </Route>
    <Route path={at('money/overrides')}>
      <AccountOverrides />
    </Route>
    <Route path={at('money/plans/:planId')}>
      <PlanOverrides />
    </Route>
    <Route path={at('money/cards')}>
      <CardList />
    </Route>
    <Route path={at('money/service-plans')}>
      <ServicePlanList />
    </Route>
    <Route path={at('money/service-plans/new')}>
      <NewServicePlan />
    </Route>
    <Route path={at('money/service-plans/:planId')}>
      <ServicePlanRecord />
    </Route>
  </Switch>
)
