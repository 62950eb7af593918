import { lazy } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { crosspoint } from '../../lib/api.ts'
import { FigureScreen } from './as-of.tsx'
import { CustomerFigures } from './customer.tsx'
import { FirstSteps } from './first-steps.tsx'

// A table and a form, which the overview of a company does not need.
const OwnFigures = lazy(async () => ({ default: (await import('./own.tsx')).OwnFigures }))
const SellerFigures = lazy(async () => ({ default: (await import('./seller.tsx')).SellerFigures }))

const Figures = () => {
  const { isOwn, isPlainUser, isMaster, isReseller } = usePlace()
  const { userId } = crosspoint.session() ?? {}
  if (isPlainUser && isOwn && userId !== undefined) return <OwnFigures userId={userId} />
  return (
    <>
      <FirstSteps />
      {isMaster || isReseller ? <SellerFigures /> : <CustomerFigures />}
    </>
  )
}

/** The first view: a user's own calls, the activity of a company, or the customers of a reseller or an operator. */
export const Overview = () => {
  const { t } = useTranslation()
  return (
    <FigureScreen title={t('screens.overview')}>
      <Figures />
    </FigureScreen>
  )
}
