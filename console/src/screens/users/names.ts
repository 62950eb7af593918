/** What a list or a record tells of who a user is. */
export interface Named {
  first_name?: string
  last_name?: string
  username?: string
}

export const nameOf = ({ first_name, last_name, username }: Named) =>
  [first_name, last_name].filter(Boolean).join(' ') || (username ?? '')
