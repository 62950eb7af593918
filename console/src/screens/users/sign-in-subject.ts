/** Whose sign-in is helped. */
export interface SignInSubject {
  userId: string
  name: string
  username: string | undefined
  email: string | undefined
}
