"""A weighted vote of different models, and which of them are worth keeping."""

from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from secateurs import prune

X, y = load_wine(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
X_choose, X_test, y_choose, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

models = [
    ("stump", DecisionTreeClassifier(max_depth=1, random_state=0)),
    ("tree", DecisionTreeClassifier(random_state=0)),
    ("bayes", GaussianNB()),
    ("near", KNeighborsClassifier()),
    ("linear", LinearDiscriminantAnalysis()),
]
voting = VotingClassifier(models, voting="soft", weights=[1, 2, 3, 1, 3]).fit(X_fit, y_fit)
pruning = prune(voting, X_choose, y_choose, keep=2)
print("kept, in order of choice:", pruning.member_names, "weights:", pruning.estimator.weights)
print(pruning.summary(X_test, y_test).round(4))
