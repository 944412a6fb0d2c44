/** The tests of the pages for staff on PostgreSQL. `npm test` runs them on SQLite, and the services on both. */

import '../http/console-card-changes.sqlite.test.ts';
import '../http/console-issue.sqlite.test.ts';
import '../http/console-passkeys.sqlite.test.ts';
import '../http/console-sessions.sqlite.test.ts';
import '../http/console-setup.sqlite.test.ts';
import '../http/console-staff.sqlite.test.ts';
import '../http/console-till-day.sqlite.test.ts';
import '../http/console-till-pin.sqlite.test.ts';
import '../http/console-till-sales.sqlite.test.ts';
import '../http/console-till.sqlite.test.ts';
import '../http/console-today.sqlite.test.ts';
import '../http/console.sqlite.test.ts';
