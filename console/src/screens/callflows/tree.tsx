import { ActionIcon, Badge, Button, Group, Menu, Paper, Text, ThemeIcon, UnstyledButton } from '@mantine/core'
import { EllipsisVertical, Plus } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useEditor } from './editor.ts'
import {
  branchesOf,
  childAt,
  moduleOf,
  moveUp,
  nextKey,
  type Path,
  placesIn,
  type Step,
  stepAt,
} from './flow.ts'
import { branchName, iconOf, moduleName } from './modules.ts'
import { Summary } from './summary.tsx'
import './tree.css'

/** Marks the element that gets the focus of a step. */
export const stepMark = (path: Path) => JSON.stringify(path)

/** The position of a step in the order in which they are shown, from 1 on. */
export const numberOf = (flow: Step | undefined, path: Path) =>
  placesIn(flow).findIndex((place) => stepMark(place.path) === stepMark(path)) + 1

const StepMenu = ({ path, step, name }: { path: Path; step: Step; name: string }) => {
  const { t } = useTranslation()
  const { flow, change, ask } = useEditor()
  const isFirst = path.length === 0
  const next = [...path, nextKey]
  return (
    <Menu position="bottom-end" returnFocus={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t('callflows.actionsOf', { name })}>
          <EllipsisVertical size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => ask({ ask: 'settings', path })}>{t('callflows.settings')}</Menu.Item>
        <Menu.Item onClick={() => ask({ ask: 'new', parent: path, key: nextKey })}>
          {t('callflows.addAfter')}
        </Menu.Item>
        <Menu.Item onClick={() => ask({ ask: 'new', parent: path, key: undefined })}>
          {t('callflows.addBranch')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item
          disabled={isFirst}
          onClick={() => {
            const upper = path.slice(0, -1)
            change(moveUp(flow, path), upper)
          }}
        >
          {t('callflows.moveUp')}
        </Menu.Item>
        <Menu.Item
          disabled={childAt(step, nextKey) === undefined}
          onClick={() => change(moveUp(flow, next), next)}
        >
          {t('callflows.moveDown')}
        </Menu.Item>
        <Menu.Item disabled={isFirst} onClick={() => ask({ ask: 'move', path })}>
          {t('callflows.move')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => ask({ ask: 'remove', path })}>{t('callflows.remove')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

const StepCard = ({ path, step }: { path: Path; step: Step }) => {
  const { t } = useTranslation()
  const { flow, ask, served } = useEditor()
  const module = moduleOf(step)
  const Icon = iconOf(module)
  const name = `${numberOf(flow, path)}. ${moduleName(module)}`
  return (
    <Paper withBorder className="flow-step">
      <Group wrap="nowrap" gap={4}>
        <UnstyledButton
          className="flow-step-button"
          data-step={stepMark(path)}
          onClick={() => ask({ ask: 'settings', path })}
        >
          <ThemeIcon variant="light" size="lg" color={served.has(module) ? undefined : 'gray'} aria-hidden>
            <Icon size={18} />
          </ThemeIcon>
          <div className="flow-step-text">
            <Text fw={500}>{name}</Text>
            <Text size="sm" c="dimmed">
              <Summary step={step} />
            </Text>
          </div>
          {!served.has(module) && <Badge color="orange">{t('callflows.mediaServer')}</Badge>}
        </UnstyledButton>
        <StepMenu path={path} step={step} name={name} />
      </Group>
    </Paper>
  )
}

const Branch = ({ path, parent }: { path: Path; parent: Step }) => {
  const { t } = useTranslation()
  const isIgnored = useEditor().served.has(moduleOf(parent))
  const key = path.at(-1) ?? ''
  return (
    <li>
      <Text size="sm" fw={500} className="flow-branch-name">
        {branchName(parent, key)}
        {isIgnored && (
          <Text span size="sm" c="dimmed">
            {` · ${t('callflows.branch.ignored')}`}
          </Text>
        )}
      </Text>
      <Chain start={path} />
    </li>
  )
}

const Item = ({ path, step }: { path: Path; step: Step }) => {
  const branches = branchesOf(step)
  return (
    <li>
      <StepCard path={path} step={step} />
      {branches.length > 0 && (
        <ul className="flow-branches">
          {branches.map((key) => (
            <Branch key={key} path={[...path, key]} parent={step} />
          ))}
        </ul>
      )}
    </li>
  )
}

const ends = new Set(['response', 'hangup'])

/** A step and those that follow it, one below the other; other branches are indented below their step. */
export const Chain = ({ start }: { start: Path }) => {
  const { t } = useTranslation()
  const { flow, ask } = useEditor()
  const items: { path: Path; step: Step }[] = []
  for (let path = start, step = stepAt(flow, start); step; step = childAt(step, nextKey)) {
    items.push({ path, step })
    path = [...path, nextKey]
  }
  const last = items.at(-1)
  return (
    <ol className="flow-chain">
      {items.flatMap(({ path, step }, index) => {
        const before = items[index - 1]
        const way = before && (
          <Text key={`${path.length} from`} component="li" size="xs" c="dimmed" className="flow-way">
            {branchName(before.step, nextKey)}
          </Text>
        )
        return [...(way ? [way] : []), <Item key={path.length} path={path} step={step} />]
      })}
      {last && !ends.has(moduleOf(last.step)) && (
        <li className="flow-way">
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<Plus size={14} aria-hidden />}
            aria-label={t('callflows.addAfterStep', { number: numberOf(flow, last.path) })}
            onClick={() => ask({ ask: 'new', parent: last.path, key: nextKey })}
          >
            {t('callflows.addNext')}
          </Button>
        </li>
      )}
    </ol>
  )
}
