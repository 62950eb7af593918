import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLocation, useParams } from 'wouter'
import { useTo } from '../frame/place.tsx'
import { ApiTab } from './api-tab.tsx'

export interface Section {
  id: string
  title: string
  /** Mounted when it is opened. */
  content: ReactNode
  /** Only a link leads to it. */
  isHidden?: boolean
}

/**
 * The sections of a screen, each with an address: the first has the screen's own, the others `/:section` below it, which
 * the route has to name. The last tab shows the requests that begin with `api`.
 */
export const SectionTabs = ({
  screen,
  sections,
  api,
}: {
  screen: string
  sections: readonly [Section, ...Section[]]
  api: { path: string; most?: number }
}) => {
  const [first] = sections
  const { section = first.id } = useParams()
  const [, go] = useLocation()
  const to = useTo()
  return (
    <Tabs
      value={section}
      onChange={(next) => go(to(next === first.id ? screen : `${screen}/${next}`))}
      keepMounted={false}
    >
      <Tabs.List mb="md">
        {sections
          .filter(({ isHidden }) => !isHidden)
          .map(({ id, title }) => (
            <Tabs.Tab key={id} value={id}>
              {title}
            </Tabs.Tab>
          ))}
        <Tabs.Tab value="api">API</Tabs.Tab>
      </Tabs.List>
      {sections.map(({ id, content }) => (
        <Tabs.Panel key={id} value={id}>
          {content}
        </Tabs.Panel>
      ))}
      <Tabs.Panel value="api">
        <ApiTab {...api} />
      </Tabs.Panel>
    </Tabs>
  )
}
