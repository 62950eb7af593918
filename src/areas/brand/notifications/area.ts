import { area } from '../../area.ts'
import { whitelabelArea } from '../whitelabel/area.ts'
import { createNoticeImporter, createNotifications } from './operations.ts'
import { notificationRoutes } from './routes.ts'
import { Notification } from './schema.ts'

export const notificationsArea = area({
  name: 'notifications',
  kinds: { notification: 'email templates' },
  describes: { notifications: 'Email templates and deliveries.' },
  needs: { whitelabel: whitelabelArea },
  create(tools, { whitelabel: { senders } }) {
    const { settings, store } = tools
    const notifications = createNotifications({ ...tools, senders })
    return {
      routes: notificationRoutes({ notifications, settings, clock: store.clock }),
      schemas: { notifications: Notification },
      adoptions: { notification: createNoticeImporter(tools.mail) },
    }
  },
})
