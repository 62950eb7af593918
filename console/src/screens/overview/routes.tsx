import { Overview } from './overview.tsx'

export const Routes = () => <Overview />
