import { useMemo } from 'react'
import { harmlessHtml } from '../lib/harmless-html.ts'
import { styleNonce } from '../lib/style-nonce.ts'

export interface HarmlessFrameProps {
  html: string
  /** Read out for the frame. */
  title: string
  height?: string
}

/** A frame without any rights, with what is left of a page when all that runs or loads is taken out. */
export const HarmlessFrame = ({ html, title, height = '20rem' }: HarmlessFrameProps) => {
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
