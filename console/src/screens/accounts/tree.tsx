import { type AccountRow, getAccount, listChildren } from '@crosspoint/client'
import { Anchor, Box, Group, Loader, Text, Tree, type TreeNodeData, useTree } from '@mantine/core'
import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { Building2, ChevronRight } from 'lucide-react'
import { type KeyboardEvent, type MouseEvent, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { forget, useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { Empty } from '../../parts/empty.tsx'

const pageSize = 50

type ChildPage = Awaited<ReturnType<typeof listChildren>>

/** The loaded sub-accounts of an account. */
interface Level {
  rows: readonly AccountRow[]
  next: string | undefined
  state: 'there' | 'loading' | 'failed'
}

/** Where each page of an open account begins. */
type Opened = Readonly<Record<string, readonly (string | undefined)[]>>

const firstPage: readonly (string | undefined)[] = [undefined]

// The same responses give the same result: the tree is rebuilt only when data arrives.
const pagesIn = (found: readonly UseQueryResult<ChildPage>[]) =>
  found.map(({ data, isError }) => ({ page: data, isError }))

/** The pages of all open accounts, each read once; closed accounts are not read. */
const useLevels = (opened: Opened): ReadonlyMap<string, Level> => {
  const wanted = Object.entries(opened).flatMap(([id, starts]) => starts.map((start) => ({ id, start })))
  const found = useQueries({
    queries: wanted.map(({ id, start }) => ({
      queryKey: ['account', id, 'children', start ?? ''],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        listChildren({
          ...api,
          path: { account_id: id },
          query: { page_size: pageSize, descending: false, start_key: start },
          signal,
        }),
    })),
    combine: pagesIn,
  })
  return useMemo(() => {
    const levels = new Map<string, Level>()
    Object.entries(opened)
      .flatMap(([id, starts]) => starts.map(() => id))
      .forEach((id, index) => {
        const { page, isError = false } = found[index] ?? {}
        const rows = [...(levels.get(id)?.rows ?? []), ...(page?.data ?? [])]
        const state = page ? 'there' : isError ? 'failed' : 'loading'
        levels.set(id, { rows, next: page?.next_start_key, state })
      })
    return levels
  }, [opened, found])
}

/** A row of the tree: an account, or the end of a level. */
type Row =
  | { kind: 'account'; account: Pick<AccountRow, 'id' | 'name' | 'realm' | 'descendants_count'> }
  | { kind: 'more' | 'loading' | 'failed'; below: string }

interface Shown {
  nodes: TreeNodeData[]
  rows: ReadonlyMap<string, Row>
}

const shownTree = (root: AccountRow, levels: ReadonlyMap<string, Level>): Shown => {
  const rows = new Map<string, Row>()
  const endOf = (below: string, level: Level | undefined): TreeNodeData[] => {
    if (level?.state === 'there' && level.next === undefined) return []
    const kind = level?.state === 'there' ? 'more' : (level?.state ?? 'loading')
    const value = `${below}/${kind}`
    rows.set(value, { kind, below })
    return [{ value, label: '' }]
  }
  const nodeOf = (account: AccountRow): TreeNodeData => {
    const { id, name } = account
    rows.set(id, { kind: 'account', account })
    if ((account.descendants_count ?? 0) === 0) return { value: id, label: name }
    const level = levels.get(id)
    return { value: id, label: name, children: [...(level?.rows ?? []).map(nodeOf), ...endOf(id, level)] }
  }
  return { nodes: [nodeOf(root)], rows }
}

const AccountLabel = ({ account, isFolder, expanded }: AccountLabelProps) => {
  const { t } = useTranslation()
  const to = useTo()
  const { id, name, descendants_count: below = 0 } = account
  return (
    <Group gap="xs" wrap="nowrap" py={4} style={{ minWidth: 0 }}>
      <Box w={18} h={18} style={{ flexShrink: 0 }}>
        {isFolder && (
          <ChevronRight size={18} aria-hidden style={{ transform: expanded ? 'rotate(90deg)' : undefined }} />
        )}
      </Box>
      <Anchor
        component={Link}
        href={to(`accounts/${id}`)}
        tabIndex={-1}
        onClick={(event: MouseEvent) => event.stopPropagation()}
        className="row-cell"
        dir="auto"
        title={name}
      >
        {name}
      </Anchor>
      {below > 0 && (
        <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
          {t('accounts.countBelow', { number: showNumber(below) })}
        </Text>
      )}
    </Group>
  )
}

interface AccountLabelProps {
  account: Pick<AccountRow, 'id' | 'name' | 'descendants_count'>
  isFolder: boolean
  expanded: boolean
}

const EndLabel = ({ kind }: { kind: 'more' | 'loading' | 'failed' }) => {
  const { t } = useTranslation()
  return (
    <Group gap="xs" py={4} ps={26}>
      {kind === 'loading' && <Loader size={14} aria-hidden />}
      <Text size="sm" c={kind === 'failed' ? 'red.9' : undefined}>
        {t(
          kind === 'more'
            ? 'accounts.more'
            : kind === 'failed'
              ? 'accounts.failedBelow'
              : 'accounts.loadingBelow',
        )}
      </Text>
    </Group>
  )
}

/** The account that is open, and those below it, level by level and page by page. */
export const AccountTree = () => {
  const { t } = useTranslation()
  const { accountId, name, realm, isPlainUser } = usePlace()
  const to = useTo()
  const [, go] = useLocation()
  const own = useAnswer(['account', accountId], (signal) =>
    getAccount({ ...api, path: { account_id: accountId }, signal }),
  )
  const [opened, setOpened] = useState<Opened>({ [accountId]: firstPage })
  const expandedState = useMemo(
    () => Object.fromEntries(Object.keys(opened).map((id) => [id, true])),
    [opened],
  )
  const tree = useTree({
    expandedState,
    onNodeExpand: (id) => setOpened((before) => ({ ...before, [id]: before[id] ?? firstPage })),
    onNodeCollapse: (id) => setOpened(({ [id]: _folded, ...rest }) => rest),
  })
  const levels = useLevels(opened)
  const below = own.data?.data.descendants_count ?? 0
  const { nodes, rows } = useMemo(
    () => shownTree({ id: accountId, name, realm, descendants_count: below }, levels),
    [accountId, name, realm, below, levels],
  )

  const act = (value: string) => {
    const row = rows.get(value)
    if (row?.kind === 'account') go(to(`accounts/${row.account.id}`))
    if (row?.kind === 'failed') void forget('account')
    if (row?.kind !== 'more') return
    const next = levels.get(row.below)?.next
    setOpened((before) => ({ ...before, [row.below]: [...(before[row.below] ?? firstPage), next] }))
  }
  const onKeyDown = ({ key, target }: KeyboardEvent) => {
    const value = target instanceof HTMLElement ? target.dataset.value : undefined
    if (key === 'Enter' && value !== undefined) act(value)
  }
  if (own.data && below === 0)
    return (
      <Empty
        Icon={Building2}
        text={t('accounts.empty')}
        next={!isPlainUser && { to: to('accounts/new'), label: t('accounts.new') }}
      />
    )
  return (
    <Tree
      aria-label={t('accounts.treeLabel', { name })}
      data={nodes}
      tree={tree}
      levelOffset="lg"
      onKeyDown={onKeyDown}
      renderNode={({ node, expanded, hasChildren, elementProps }) => {
        const row = rows.get(node.value)
        if (row?.kind === 'account') {
          return (
            <div {...elementProps}>
              <AccountLabel account={row.account} isFolder={hasChildren} expanded={expanded} />
            </div>
          )
        }
        // Its keys are those of the element around it, which has the focus.
        const pressed = { ...elementProps, onClick: () => act(node.value) }
        return (
          <div {...pressed}>
            <EndLabel kind={row?.kind ?? 'loading'} />
          </div>
        )
      }}
    />
  )
}
