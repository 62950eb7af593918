import { anyObject, anyText, choice, gregorian, must, open } from '../../../lib/schema.ts'

export const LoginAttempt = open(
  {
    id: must(anyText({ description: 'Year and month, a dash, 32 hex characters' })),
    auth_type: must(choice(['user_auth', 'api_auth', 'multi_factor', 'recovery', 'impersonation'])),
    auth_module: must(anyText({ description: 'Sign-in method, such as cb_user_auth' })),
    status: must(choice(['success', 'failed'])),
    message: must(anyText()),
    client_ip: must(anyText()),
    client_headers: must(anyObject({ description: 'Headers of the request, without credentials' })),
    crossbar_request_id: must(anyText()),
    timestamp: must(gregorian('Time of the attempt')),
    metadata: must(anyObject({ description: 'Account concerned' })),
  },
  { title: 'Login attempt' },
)
