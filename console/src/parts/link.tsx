import { Anchor, Button, type ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

/** A link to another screen. */
export const ToScreen = ({ to, children }: { to: string; children: ReactNode }) => (
  <Anchor component={Link} href={to} inherit>
    {children}
  </Anchor>
)

export const ButtonToScreen = ({
  to,
  children,
  ...rest
}: ButtonProps & { to: string; children: ReactNode }) => (
  <Button component={Link} href={to} {...rest}>
    {children}
  </Button>
)
