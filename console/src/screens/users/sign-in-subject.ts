/** The user whose sign-in is managed. */
export interface SignInSubject {
  userId: string
  name: string
  username: string | undefined
  email: string | undefined
}
