/** The texts of mails in Hebrew. */

import type { Texts } from './en.ts';

export const he: Texts = {
  cardTitle: 'כרטיס מתנה',
  valueLabel: 'שווי',
  balanceLabel: 'יתרה',
  codeLabel: 'קוד כרטיס המתנה',
  qrAlt: 'קוד QR של כרטיס המתנה',
  codeHint: 'יש להזין את הקוד בעת סיום הרכישה או להציג אותו בעת התשלום.',
  codeIsMoney: 'יש לשמור את ההודעה במקום בטוח: כל מי שהקוד בידיו יכול להשתמש בכרטיס.',
  expiryLabel: 'בתוקף עד',
  endingLabel: 'הקוד מסתיים ב־',
  recipientLabel: 'נמען',
  issuedLabel: 'תאריך',
  sendOnLabel: 'תאריך המשלוח',
  orderLabel: 'מספר הזמנה',
  messageLabel: 'הודעה',
  openCard: 'הצגת כרטיס המתנה',
  checkBalance: 'בדיקת יתרה',
  findCode: 'הקוד נמצא בהודעת הדוא״ל שבה התקבל כרטיס המתנה.',
  contact: 'יש שאלות? אפשר לכתוב אל {address}.',
  automatic: 'הודעה זו נשלחה באופן אוטומטי מטעם {store}.',
  unsubscribe: 'הסרה מרשימת התזכורות',

  giftCardSubject: 'כרטיס מתנה בשבילך מאת {store}',
  giftCardPreheader: 'התקבל עבורך כרטיס מתנה בשווי {amount}.',
  giftCardHeading: 'כרטיס מתנה בשבילך',
  giftCardIntro: 'התקבל עבורך כרטיס מתנה למימוש אצל {store}.',

  receiptSubject: 'קבלה על כרטיס מתנה מאת {store}',
  receiptPreheader: 'תודה על רכישת כרטיס מתנה בשווי {amount}.',
  receiptHeading: 'תודה על הרכישה',
  receiptIntro: 'להלן פרטי כרטיס המתנה שנרכש אצל {store}.',
  receiptNoCode: 'מטעמי בטיחות הקוד אינו מופיע בקבלה זו. הוא נשלח בהודעה נפרדת.',

  expirySubject: 'תוקפו של כרטיס המתנה מאת {store} עומד לפוג',
  expiryPreheader: 'אפשר לממש {amount} עד {date}.',
  expiryHeading: 'תוקפו של כרטיס המתנה עומד לפוג',
  expiryIntro: 'אפשר להשתמש בכרטיס המתנה מאת {store} עד {date}.',

  balanceSubject: 'נותרה לך יתרה בכרטיס המתנה מאת {store}',
  balancePreheader: 'נותרו למימוש {amount}.',
  balanceHeading: 'נותרה יתרה בכרטיס המתנה',
  balanceIntro: 'בכרטיס המתנה מאת {store} נותרה יתרה שאפשר עוד לממש.',

  failedSubject: 'לא ניתן היה למסור את כרטיס המתנה',
  failedPreheader: 'ההודעה עם כרטיס המתנה לא הגיעה אל הנמען.',
  failedHeading: 'לא הצלחנו למסור את כרטיס המתנה',
  failedIntro: 'לא ניתן היה למסור את ההודעה עם כרטיס המתנה אל {address}.',
  failedSafe: 'כרטיס המתנה שומר על מלוא שוויו.',
  failedNext: 'נבקש לבדוק את הכתובת וליצור איתנו קשר, כדי שנוכל לשלוח אותו שוב.',

  sampleMessage: 'יום הולדת שמח!\nמקווה שתמצאו משהו יפה. תיהנו מהבחירה, ודרישת שלום לכולם.',
};
