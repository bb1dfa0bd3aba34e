"""The words of the menus, the ads and the comments."""

from __future__ import annotations

NAMES = ("Aleks", "Birgit", "cyclops71", "Dorothea", "Emre", "Fen", "Greta K.", "h.o.", "Irina", "Jun", "Kwame", "老李")

MENUS = {
    "en": (
        (("Home", "/en/index"), ("Magazine", "/en/articles"), ("Shop", "/en/products"), ("Русский", "/ru/index")),
        (("Start here", "/en/index"), ("What we sell", "/en/products"), ("Reading room", "/en/articles")),
    ),
    "ru": (
        (("Главная", "/ru/index"), ("Журнал", "/ru/articles"), ("Полки", "/ru/products"), ("English", "/en/index")),
        (("К началу", "/ru/index"), ("Что купить", "/ru/products"), ("Что почитать", "/ru/articles")),
    ),
    "zh": (
        (("首页", "/zh/index"), ("杂志", "/zh/articles"), ("货架", "/zh/products"), ("English", "/en/index")),
        (("从这里开始", "/zh/index"), ("买点什么", "/zh/products"), ("读点什么", "/zh/articles")),
    ),
}
"""Two menus for each language: label and address of every entry."""

ADS = {
    "en": (
        "Window cleaning from the rope: we come when the weather does.",
        "Piano lessons for adults who gave up at eleven. First hour free.",
        "Nordwind Insurance. Because the bicycle was locked.",
        "Your attic could be an office. Ask Bauer & Daughter, carpenters.",
        "Three nights in a lighthouse, breakfast by basket.",
        "Learn Portuguese on your way to work with Palavra.",
        "Fresh flowers on subscription, every second Friday.",
        "New glasses in one hour or your old ones back.",
        "Accountants who answer the telephone.",
        "Move house by cargo bike: twelve boxes, one ride.",
        "The cinema on the quay shows films without adverts. This is one.",
        "Firewood, dry, stacked, and delivered before the first snow.",
        "Give a cello for a year. Rent-a-String, near the station.",
        "Dogs walked, cats fed, parrots listened to.",
    ),
    "ru": (
        "Настройка пианино на дому, выезд и за город.",
        "Окна моем с верёвки, как только кончится дождь.",
        "Прокат байдарок у старой мельницы, второй час бесплатно.",
        "Бухгалтер, который берёт трубку.",
        "Дрова берёзовые, сухие, уложим в поленницу.",
        "Уроки шахмат для бабушек и внуков одновременно.",
        "Свежие цветы по подписке через пятницу.",
    ),
    "zh": (
        "绳索擦窗,天晴就来。",
        "成人钢琴课,第一节免费。",
        "老码头电影院,片前没有广告,除了这一条。",
        "搬家用货运单车,十二箱一趟。",
        "遛狗喂猫,也陪鹦鹉说话。",
        "两周一束鲜花,送到门口。",
        "配眼镜一小时取。",
    ),
}

COMMENTS = {
    "en": (
        "My father did it exactly like this and never told anyone why.",
        "Does anybody know whether this works with soft water too?",
        "I tried it on Sunday. My neighbours have started talking to me again.",
        "Third paragraph made me laugh out loud on the tram.",
        "Disagree completely, but nicely written.",
        "Could you please write about radiators next time?",
        "Printed it out and hung it in the staff kitchen.",
        "You forgot to mention the cat.",
        "Bought one in March and have nothing to complain about, which worries me.",
        "I was there that day. It rained more than you say.",
        "Where can I get the spare part if I live abroad?",
        "Thank you, this saved me an afternoon and probably a finger.",
        "First time I understood the reason behind it.",
        "Greetings from a cold kitchen in Tartu!",
        "My daughter wants to know who took the photographs.",
        "Works, although it took me two attempts and a clean shirt.",
    ),
    "ru": (
        "Так делал ещё мой дед, только молча.",
        "Попробовала в воскресенье, соседи снова здороваются.",
        "Не согласен ни с чем, но написано хорошо.",
        "А если вода мягкая, тоже поможет?",
        "Распечатал и повесил на кухне в отделе.",
        "Напишите в следующий раз про печки, пожалуйста.",
        "Получилось со второго раза и в чистой рубашке.",
        "Про кота забыли упомянуть.",
    ),
    "zh": (
        "我爸也是这么做的,从来不说为什么。",
        "星期天试了,成功。",
        "写得好,不过我不同意。",
        "软水地区也适用吗?",
        "打印出来贴在茶水间了。",
        "下次能不能写写暖气?",
        "忘了提那只猫。",
        "第二回才弄好,还换了件衬衫。",
    ),
}
