import { lazy, Suspense } from 'react'
import type { HarmlessFrameProps } from './harmless-frame.tsx'
import { Loading } from './screen.tsx'

// The library that takes a page apart is loaded with the first page that there is to show.
const Frame = lazy(async () => ({ default: (await import('./harmless-frame.tsx')).HarmlessFrame }))

/** HTML of other users in a frame without scripts, external resources and working links. */
export const HtmlFrame = (props: HarmlessFrameProps) => (
  <Suspense fallback={<Loading />}>
    <Frame {...props} />
  </Suspense>
)
