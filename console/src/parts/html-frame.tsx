import { useMemo } from 'react'
import { harmlessHtml } from '../lib/harmless-html.ts'
import { styleNonce } from '../lib/style-nonce.ts'

/** What somebody else wrote, shown where it can do nothing: no script runs, nothing is loaded, no link leads away. */
export const HtmlFrame = ({
  html,
  title,
  height = '20rem',
}: {
  html: string
  title: string
  height?: string
}) => {
  const page = useMemo(() => harmlessHtml(html, styleNonce()), [html])
  return (
    <iframe
      sandbox=""
      srcDoc={page}
      title={title}
      style={{
        width: '100%',
        height,
        border: '1px solid var(--mantine-color-default-border)',
        borderRadius: 'var(--mantine-radius-sm)',
        background: '#fff',
        colorScheme: 'light',
      }}
    />
  )
}
